"""What a person sees in a terminal while a solve runs and when it ends; the formatting that reports share."""
