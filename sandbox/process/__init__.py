"""Runs one started program to its end on this host, and leaves nothing of it behind. Imported where commands run."""
