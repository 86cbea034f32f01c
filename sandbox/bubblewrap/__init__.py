"""Holds one command on Linux: by mounts, namespaces and a filter of system calls, through ``bwrap``."""
