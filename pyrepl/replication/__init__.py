"""PSYNC, pure."""
