"""What runs a command: the table of commands, the dispatcher, gates, arguments, effects."""
