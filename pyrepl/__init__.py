"""pyrepl: a replication daemon that speaks Redis's PSYNC, as master and as replica."""
