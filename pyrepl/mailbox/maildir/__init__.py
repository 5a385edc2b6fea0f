"""The files of a Maildir as Dovecot 2.3 and 2.4 write and read them: bytes to values, and values to bytes.

    filename        names in cur/ and new/: base and letters, and bases of our own making
    uidlist         dovecot-uidlist: which UID and which GUID a file has
    keywords        dovecot-keywords: which letter of a name stands for which keyword
    letters         the letters of a name as flags, and back
    subscriptions   the file of subscribed names
    layout          where a mailbox's folder lies: Maildir++ and fs
    mutf7           names of mailboxes in folders' names (modified UTF-7)
    text_sums       size and checksums of a message's text, while it passes

Pure. Not here: reading and writing the files in an order that survives a crash (daemon/mailbox).
"""
