"""The commands of README.md and docs/: each block is run as it stands, or says why it is not."""
