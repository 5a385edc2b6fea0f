"""A reader of IMAP servers (RFC 3501): as much of the protocol as it takes to see what a user sees.

    answers   what a server says, out of its bytes: pure
    session   a connection: greeting, TLS, login, questions, each within a time and a size
    mail      the mailboxes of one user, for `pyrepl mailbox compare`

By hand, as the libraries for it take answers of any size, wait for a byte and not for an answer, and refuse what real
servers say (IMAPClient 4.1 a keyword with a `[`).
"""
