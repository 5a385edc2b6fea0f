"""The stream port: change streams served to subscribers."""
