"""What the container client needs: the engine's command lines, the container's life, what goes in and out."""
