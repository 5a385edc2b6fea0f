"""Mailboxes that several nodes keep: the protocol and its machines, pure.

Wire:
    words, kinds         words <-> plain values, with their bounds
    verbs, answers       each command, typed
    codec                bytes -> lines and texts, and back

What a node keeps:
    rows                 its rows, and what the database that holds them must do
    store                what the store of messages is told to do

Who may give out UIDs:
    members              the configured list
    root, leases         elections in epochs, and until when a node is one of the majority; root_states is the table
    tracker, mastership  masterships of mailboxes, all and one; tracker_states is the table
    sending              what parts of a node say to other members

Rooms:
    maildir              the formats of a Maildir's files
"""
