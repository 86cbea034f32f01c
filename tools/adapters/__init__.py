"""Adapters of the tools' ports: each for one vendor, one system or memory."""
