"""EVAL, SCRIPT, and functions: what clients say to Lua."""
