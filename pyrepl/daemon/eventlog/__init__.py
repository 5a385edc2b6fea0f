"""The event log: its records on their way into its file."""
