"""Mailboxes that several nodes keep: the protocol and its machines, pure.

Wire:
    words, kinds         words <-> plain values, with their bounds
    verbs, answers       each command, typed
    codec                bytes -> lines and texts, and back

Connections:
    peer_link, mail_conn with a member, and with a mail process; talk is what both have in common, talk_states the table
    greeting             HELLO and AUTH
    outgoing             lines that wait, and texts behind them

What a node keeps:
    rows                 its rows, and what the database that holds them must do
    store                what the store of messages is told to do

Who may give out UIDs:
    members              the configured list
    freshness            who votes for nobody yet, as the disk is new
    root, leases         elections in epochs, and until when a node is one of the majority; root_states is the table
    tracker, mastership  masterships of mailboxes, all and one; tracker_states is the table
    sending              what parts of a node say to other members, and to mail processes
    mastering            both put together with rows and links
    uids                 which UIDs may be given out, so that none gets two meanings

Ops, which all nodes apply:
    journal_ops, causal  how they are made, and when they are due
    portions             how many messages one of them names
    sayable              which ones other nodes can read
    bounds               how much may be known of one message
    merging              what they change; flags, modseqs, boxes are its rules
    clashes              two mails of one GUID in a mailbox
    core                 made, applied, kept, told
    resync               how a member gets what it missed, op by op
    fetching             the same for texts without which ops cannot be applied
    lost_ops             what no member has any more
    pulling, telling     the same by state, where no journal has the ops any more: who asks, and who answers
    entries, joining     what is compared, by digests; and how rows of two nodes become one
    mending              texts that the store lost, or has damaged
    scrubbing            which texts are read again, to see whether they are
    checks               who waits until all is everywhere
    aligning             modseqs of Dovecots, for clients that come from another node
    told                 what observers are told of ops
    refusals             what no member says that is in order
    recovery             what a crash left between store and rows, and what mail programs did meanwhile
    flag_changes         flags that differ
    doubts               those that differ in very many messages, until an operator says what became of them

Mail processes:
    saving, order        LOCK, SAVE, UNLOCK, and in which order SAVEs go out
    tasks                what the node does itself under masterships
    acks                 who waits until another node has an op
    excluded             what is not kept
    mail_side            everything else
    renewing, uniting    a new UIDVALIDITY, and one mailbox of two of one name, as an operator asks

A Dovecot that knows nothing of us:
    gates, gate_states   it waits for lock files, which is its LOCK
    gate_awaited         what of its mailboxes is not compared yet
    compare              what it did, from what files hold and rows say
    copies               messages that get a GUID of their own
    folders              mailboxes that it made, renamed, deleted and subscribed
    joins                all users whose Maildirs were there before

    node                 one member, of all that
    client               a mail process as a library, with a socket of its own

Rooms:
    maildir              the formats of a Maildir's files
"""
