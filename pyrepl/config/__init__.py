"""Directives and redis.conf text."""
