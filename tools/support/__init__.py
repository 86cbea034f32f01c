"""What several tools share: paths (containment), atomic writes, text files, places of text."""
