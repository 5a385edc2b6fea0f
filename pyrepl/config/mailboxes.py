"""Rows of directives.py about mailboxes that several nodes keep. None of these directives is in Redis."""

from __future__ import annotations

from typing import Final

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import Addresses, Choice, Integer, Memory, OctalMode, Secret, Text
from pyrepl.config.mailbox_kinds import MailboxMembers, MailboxPatterns

KB: Final = 1024
MB: Final = 1024 * 1024
DAY_MS: Final = 86_400_000


class Mailboxes:
    """Mailboxes"""

    mailbox_port = Directive(
        Integer(0, 65535),
        0,
        "TCP port for the other nodes that keep the same mailboxes, and for mail processes that know mailbox-secret; 0:"
        " this node keeps none. Not in Redis, like all of mailbox-*.",
        mutable=False,
    )
    mailbox_bind = Directive(
        Addresses(), (), "Addresses of mailbox-port, as in bind; empty: those of bind.", mutable=False
    )
    mailbox_socket = Directive(
        Text(),
        "",
        "Path of a Unix socket for mail processes of this machine, who need no secret: the rights of the file say who"
        " may use it.",
        mutable=False,
    )
    mailbox_socket_perm = Directive(OctalMode(), 0o600, "Permissions of mailbox-socket, octal.", mutable=False)
    mailbox_node = Directive(
        Text(), "", "The name of this node among mailbox-members; it stays the same for good.", mutable=False
    )
    mailbox_members = Directive(
        MailboxMembers(),
        (),
        "All nodes that keep these mailboxes, this one too, the same list on each: name=host:port, where"
        " port is its mailbox-port. A member with ,witness behind it keeps no mail, but votes for who is"
        " the root.",
        mutable=False,
    )
    mailbox_secret = Directive(
        Secret(),
        b"",
        "What nodes and mail processes prove to know before they are heard on mailbox-port; it is never sent.",
        mutable=False,
        secret=True,
    )
    mailbox_store = Directive(
        Choice("maildir", "doveadm"),
        "maildir",
        "How this node keeps mail: maildir, in the Maildirs that mailbox-maildir names; or doveadm, in whatever format"
        " a Dovecot 2.4 has, as sdbox, by the program that mailbox-doveadm names. With doveadm no Dovecot waits for"
        " the node: what its clients do is seen each mailbox-poll milliseconds, and a message whose UID another node"
        " gave out meanwhile gets another.",
        mutable=False,
    )
    mailbox_poll = Directive(
        Integer(50, DAY_MS),
        5000,
        "Milliseconds after which a node with mailbox-store doveadm asks its Dovecot again what has changed. With"
        " gates, where the kernel watches no more folders (fs.inotify.max_user_watches), one of those that it does not"
        " watch is looked at each so many milliseconds.",
        mutable=False,
    )
    mailbox_maildir = Directive(
        Text(),
        "",
        "Where the Maildir of a user lies, as /var/vmail/%d/%n/Maildir: %u is the user, %n what stands"
        " before the @, %d what stands behind the @; with %n alone no user may have an @. A witness needs none, nor"
        " does mailbox-store doveadm.",
        mutable=False,
    )
    mailbox_layout = Directive(
        Choice("maildir++", "fs"),
        "maildir++",
        "How subfolders lie in a Maildir, as Dovecot's LAYOUT. With mailbox-store doveadm: which separator the names of"
        " mailboxes have in Dovecot, a dot with maildir++, a slash with fs.",
        mutable=False,
    )
    mailbox_dir = Directive(
        Text(), "", "Folder of mailbox.db, where the node keeps what it knows of mailboxes; empty: dir.", mutable=False
    )
    mailbox_gate = Directive(
        Choice("on", "off"),
        "off",
        "Whether a Dovecot, which needs to know nothing of pyrepl, writes to the Maildirs. With on, this"
        " Dovecot waits for the node before it gives out a UID, and what it does comes into the Maildirs of"
        " all nodes.",
        mutable=False,
    )
    mailbox_orphan = Directive(
        Integer(0, DAY_MS),
        20_000,
        "Milliseconds for which the gates of a node that was killed stay shut. After that, with"
        " mailbox-apart accept, its Dovecot goes on without the node, with UIDs that no other node gives"
        " out.",
        mutable=False,
    )
    mailbox_expunge_guard = Directive(
        Integer(0, 2**31 - 1),
        100,
        "Messages that are missing from a Maildir with a gate count as expunged. If more than so many are"
        " missing at once, and more than half of the mailbox, none of them does.",
        mutable=False,
    )
    mailbox_apart = Directive(
        Choice("accept", "refuse"),
        "accept",
        "What a node does while it sees no majority of the members: accept, give out UIDs, some of which"
        " change when the node sees a majority again; or refuse, take no new mail until then.",
        mutable=False,
    )
    mailbox_gap = Directive(
        Integer(100, 10_000_000),
        100_000,
        "How many UIDs a node that is apart leaves free, so that no other gives out the same. It must be the same on"
        " all members: nodes with another one are not linked.",
        mutable=False,
    )
    mailbox_lease = Directive(
        Integer(100, DAY_MS),
        5000,
        "Milliseconds for which a node may act on what the root allowed. It must be the same on all members: nodes with"
        " another one are not linked.",
        mutable=False,
    )
    mailbox_root_timeout = Directive(
        Integer(100, DAY_MS), 2000, "Milliseconds without a sign of the root until another is elected.", mutable=False
    )
    mailbox_lock_timeout = Directive(
        Integer(100, DAY_MS), 10_000, "Milliseconds after which a LOCK that cannot be had is refused.", mutable=False
    )
    mailbox_tenure = Directive(
        Integer(0, DAY_MS), 20, "Milliseconds for which a mailbox stays with a node that others want.", mutable=False
    )
    mailbox_min_acks = Directive(
        Integer(1, 15),
        1,
        "How many other nodes must have a change on disk before the mail process that made it is answered;"
        " or all that can be reached, if those are fewer. The answer says how many have it.",
        mutable=False,
    )
    mailbox_ack_timeout = Directive(
        Integer(1, DAY_MS),
        5000,
        "Milliseconds after which a mail process is answered even if fewer nodes than mailbox-min-acks"
        " have the change.",
        mutable=False,
    )
    mailbox_single_copy = Directive(
        Choice("accept", "refuse"),
        "accept",
        "What a mail process that made a change is told while no other node can be reached: that the change is done,"
        " with acks=0, or that it is refused; so is who delivers by mailbox-lmtp-port. A Dovecot is never refused.",
        mutable=False,
    )
    mailbox_lmtp_port = Directive(
        Integer(0, 65535),
        0,
        "TCP port for mail servers that deliver by LMTP to the Dovecot of this node: they are answered when"
        " mailbox-min-acks other nodes have the mail too. 0: none. With mailbox-gate on.",
        mutable=False,
    )
    mailbox_lmtp_bind = Directive(
        Addresses(),
        ("127.0.0.1",),
        "Addresses of mailbox-lmtp-port, as in bind; whoever comes in there may deliver mail to anybody.",
        mutable=False,
    )
    mailbox_lmtp_backend = Directive(
        Text(),
        "",
        "Where Dovecot takes mail by LMTP: the path of its socket, as /run/dovecot/lmtp, or host:port.",
        mutable=False,
    )
    mailbox_doveadm = Directive(
        Text(),
        "",
        "The program doveadm of this node's Dovecot, as /usr/bin/doveadm, with options before its commands if it needs"
        " some. With it `pyrepl mailbox check --login` brings modseqs in line for clients that come from another node."
        " With mailbox-gate on. With mailbox-store doveadm it is what keeps mail.",
        mutable=False,
    )
    mailbox_exclude = Directive(
        MailboxPatterns(),
        (),
        "Users, or mailboxes as user/mailbox, that are left to the mail programs of this node, with * and ?"
        " as in */Trash or */[Gmail]/*; the same on all nodes. A mailbox that is kept already goes on being kept.",
        mutable=False,
    )
    mailbox_workers = Directive(
        Integer(1, 64), 4, "Threads that write to Maildirs; all of a user's mail is one thread's.", mutable=False
    )
    mailbox_journal_size = Directive(
        Memory(MB),
        256 * MB,
        "Bytes of the journal of changes that are kept for nodes that come back. A node that missed"
        " more than these compares whole mailboxes.",
        mutable=False,
    )
    mailbox_tombstones = Directive(
        Integer(1, 36_500),
        30,
        "Days for which the node remembers which messages were expunged. Make them more than a node may be away: if one"
        " is away for longer, and a message that went is saved again meanwhile, its flags may differ between the two.",
        mutable=False,
    )
    mailbox_scrub = Directive(
        Memory(),
        0,
        "Bytes a second at which stored messages are read again each day and compared with their checksums; what is"
        " damaged is fetched from another node. 0: only when MAILBOX SCRUB asks for it.",
    )
    mailbox_maxclients = Directive(
        Integer(1, 2**31 - 1),
        1000,
        "Mail processes at once; more are refused. As many connections to mailbox-lmtp-port, besides.",
    )
    mailbox_line_limit = Directive(
        Memory(64 * KB, 64 * MB), 64 * KB, "Close a connection that sends a longer line, in bytes.", mutable=False
    )
    mailbox_text_limit = Directive(
        Memory(KB, 4 * 1024 * MB),
        64 * MB,
        "Close the connection of a mail process that sends a larger message, in bytes. What a Dovecot has taken is"
        " on all nodes, of whatever size.",
        mutable=False,
    )
    mailbox_output_buffer_limit = Directive(
        Memory(64 * KB),
        16 * MB,
        "Bytes that may wait for a node or a mail process which does not read. Beyond it the connection is"
        " closed, and nothing is lost by that. A transaction that takes more than three quarters of it is refused.",
        mutable=False,
    )
