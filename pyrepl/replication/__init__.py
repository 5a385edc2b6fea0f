"""PSYNC, pure: what a master and a replica say to each other, and what each concludes. No socket, clock or randomness.

Bytes in at the left, bytes out at the right; `now` is monotonic seconds:

    history, backlog     the stream's identity and its newest bytes
    psync, dialects      continue or full resync, and why
    feed, spans          commands -> stream bytes; stream bytes -> whole units of commands
    link, link_life      the replica's machine; its table of moves is link_states, its settings link_options
    conversation         what is said over its present connection
    handshake            its part before a sync: PING, AUTH, REPLCONF, PSYNC
    snapshot_in, transfer, stream_in
                         its parts for what comes then
    two_channels, rdb_channel, main_channel, syncbuffer, lines
                         its parts for a sync on two connections, and the stream held meanwhile
    progress, backoff    its counters and its patience
    session, limits      the master's machine for one connection of a replica, and how slow it may be; its table of
                         moves is session_states, what the replica said of itself is told
    pairs                which two connections make one sync, and what becomes of one when the other ends
    roster, causes       all sessions: lag, WAIT, limits; why there were full resyncs
    shared_snapshot      the snapshot that they share
    role                 the only branch on master or replica
    events               what the machines tell their shells

Offsets are cuts: how many stream bytes lie to the left. The wire counts bytes from 1 in `PSYNC id n` alone, and only
`psync.decode_request`/`encode_request` know it.
"""
