"""What a fresh workspace holds, and how it gets there (S11)."""
