"""The subcommand `pyrepl metrics`."""
