"""Scripts in Lua: an interpreter in a sandbox, its libraries, values between Lua and Redis. It knows no commands."""
