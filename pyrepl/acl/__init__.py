"""Users and what each may do (ACL), who a connection is, and where it comes from.

    selector            one set of rights: commands, keys, channels
    user                a name, passwords, selectors; the rules that make them
    users               all users of a node, with the user file
    log                 what was refused, for ACL LOG
    identity, addresses who a connection is, and whether it comes from this machine

Rights are checked by `commands.engine.rights`, which knows the keys and channels of each command.
"""
