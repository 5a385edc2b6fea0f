"""What commands tell about themselves: COMMAND and HELP."""
