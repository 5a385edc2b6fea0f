"""Commands on the connection, its transaction and its subscriptions."""
