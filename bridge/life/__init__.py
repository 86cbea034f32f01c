"""Life and death of the server process: its parent, its signals, its streams."""
