"""The map of a code base: symbols, the index of them, their ranks, and the text that shows them within a budget."""
