"""Searching in the content of files: one dialect, two engines, and processes of their own that can be killed."""
