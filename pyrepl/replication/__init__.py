"""PSYNC, pure: what a master and a replica say to each other, and what each concludes. No socket, clock or randomness.

Bytes in at the left, bytes out at the right; `now` is monotonic seconds:

    history, backlog     the stream's identity and its newest bytes
    psync, dialects      continue or full resync, and why
    feed, spans          commands -> stream bytes; stream bytes -> whole units of commands
    handshake, transfer  the parts of link, the replica's machine, whose table of states is link_states
    rdb_channel, main_channel, syncbuffer, lines
                         more of its parts: a sync on two connections, and the stream held meanwhile
    progress, backoff    its counters and its patience
    session, limits      the master's machine for one connection of a replica, and how slow it may be
    pairs                which two connections make one sync, and what becomes of one when the other ends
    roster               all sessions: the snapshot they share, lag, WAIT, limits, counters
    role                 the only branch on master or replica
    events               what the machines tell their shells

Offsets are cuts: how many stream bytes lie to the left. The wire counts bytes from 1 in `PSYNC id n` alone, and only
`psync.decode_request`/`encode_request` know it.
"""
