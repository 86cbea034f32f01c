"""What a command must not change or make in a workspace, and what becomes of it when one did."""
