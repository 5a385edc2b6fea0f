"""Snapshots and the configuration on disk, and the child that writes snapshots."""
