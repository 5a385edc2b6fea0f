"""Commands on vector sets (Redis 8)."""
