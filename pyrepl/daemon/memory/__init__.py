"""Memory: where it comes from, tables that grow, what is freed between requests."""
