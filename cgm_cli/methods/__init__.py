"""The one loop, and the policies that make a method of it."""
