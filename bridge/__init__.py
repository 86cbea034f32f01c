"""The language server: the only place that sees everything. Imported as ``openbuffer.bridge``."""
