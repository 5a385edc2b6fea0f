"""Mailboxes that several nodes keep: the protocol and its machines, pure.

Wire:
    words, kinds         words <-> plain values, with their bounds
    verbs, answers       each command, typed
    codec                bytes -> lines and texts, and back

What a node keeps:
    rows                 its rows, and what the database that holds them must do
    store                what the store of messages is told to do

Rooms:
    maildir              the formats of a Maildir's files
"""
