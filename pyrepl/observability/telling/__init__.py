"""What is told of replication, once: each fact has one place that makes its line of the log and its record."""
