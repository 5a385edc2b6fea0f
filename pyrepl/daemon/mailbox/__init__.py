"""What a node keeps of mailboxes on its disk; nothing here is imported where no mailboxes are kept.

database                     the SQLite file: opened, changed in transactions, closed
columns                      values of rows as columns, and back
box_table, message_table, journal
                             its tables
sqlite_rows                  all of them, as the machines of pyrepl.mailbox see them
"""
