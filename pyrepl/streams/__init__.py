"""Change streams: lines of text that anyone can follow, from a token, on any node.

verbs, tokens        each command of the line protocol, typed; stream names, writers and tokens
codec                bytes -> lines -> commands, and back
"""
