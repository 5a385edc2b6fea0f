"""Real servers to test against: finding them, running them, filling them, comparing them.

finder   where the binaries are, installing what is missing
lab      running nodes, always ended
wire     a small client on a plain socket
dataset  a data set of every type and encoding, and a real dump.rdb of it
writer   a random writer over all types
compare  are two nodes equal, and where not
proxy    a TCP proxy that cuts, stalls and half-closes

Nothing here imports pyrepl: what judges the daemon must not share its mistakes.
"""
