"""The subcommand `pyrepl tail`."""
