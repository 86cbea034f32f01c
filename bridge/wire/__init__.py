"""The wire: frames, messages, JSON-RPC with exactly one answer per request."""
