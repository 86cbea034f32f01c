"""One file per LSP message: parse, delegate, serialise."""
