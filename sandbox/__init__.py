"""Where commands and files of a session may live instead of on the host. Imported as ``openbuffer.sandbox``."""
