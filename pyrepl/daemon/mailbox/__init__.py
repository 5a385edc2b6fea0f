"""Mailboxes that several nodes keep: the service, and what it has on disk. Imported only where `mailbox-port` is set.

The service:
    server, configured           its life, and what the directives say
    keeping, driver              what is open, and the rounds of the machine (pyrepl.mailbox.node)
    owing, beside                works and looks: within the rounds, and beside them
    standing                     users whose disk refuses
    disk_watch, trouble          the disk of all, and why nothing is open
    conns, talk_conn, first_line, sockets
                                 connections, and what passes between them and the machine
    dialer                       links to other members
    workers, text_writer         threads that wait for the disk
    scrubber                     has them read texts again
    aligner, doveadm             Dovecot's modseqs are brought in line before a login
    deeds, off                   the answers to MAILBOX
    figures, tally, lag          what INFO mailboxes shows, and what is counted for it

Rows:
    database                     the SQLite file: opened, changed in transactions, closed
    columns                      values of rows as columns, and back
    box_table, message_table, journal, owed_table
                                 its tables
    sqlite_rows                  all of them, as the machines of pyrepl.mailbox see them

Messages, in Maildirs that a Dovecot serves:
    maildir_store, results       does works, in the order in which they are told, and says how each ended
    maildirs_place               where the Maildirs lie, and whether they are there
    drop_folder                  texts on their way in
    aside                        texts of messages without a UID
    user_boxes, user_folders     a user's mailboxes: made, renamed, removed; which folder is which
    open_box, box_plan           one mailbox: a batch of works under its lock
    look, listing                what is asked of who looks at one, and what is there
    message_text                 what is told of a message's text
    uidlist_file, box_keywords, message_files
                                 its files
    uidlist_lock                 the lock that Dovecot takes too
    gate_room                    what gates need of the system:
    gate_watch                   who waits for a lock, and what Dovecot has done
    name_watch                   which files came and went behind an open gate
    unwatched                    folders that the kernel does not watch, one after the other
    keeper, keeper_link          a process that keeps gates shut when the daemon is killed, and how it is told of them
    fresh_texts                  texts that were just read
    text_reading                 a text compared with its checksums
    files                        the calls to the file system
"""
