"""What the client in memory needs: its files, and its few programs."""
