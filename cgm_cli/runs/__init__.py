"""What a solve leaves on disk: the run folder, its log, its provenance, and how to read them back."""
