"""The families of commands: every module whose rows make up the command table. A new family is added here.

Not here: introspection, which tells of all of them, and so puts itself among them (`introspection.FAMILIES`).
"""

from __future__ import annotations

from types import ModuleType
from typing import Final

from pyrepl.commands.collections import (
    blocking_lists,
    collection_scans,
    hash_ttl,
    hash_ttl_values,
    hashes,
    list_edits,
    lists,
    set_algebra,
    sets,
)
from pyrepl.commands.geo import places, searches
from pyrepl.commands.keys import dump, expiry, keys, migrate, objects, scan, sort
from pyrepl.commands.node import (
    aof,
    change_streams,
    cluster,
    commandlog,
    config_admin,
    databases,
    debug,
    hotkeys,
    latency,
    lolwut,
    mailboxes,
    memory,
    modules,
    replication,
    server,
    slowlog,
)
from pyrepl.commands.scripts import evals, functions, script_admin
from pyrepl.commands.session import acl, capabilities, client_admin, connection, pubsub, tracking, transactions
from pyrepl.commands.strings import bitfields, bits, comparisons, hyperloglogs, lcs, strings
from pyrepl.commands.vectors import vector_searches, vector_sets
from pyrepl.commands.xstreams import (
    claims as stream_claims,
)
from pyrepl.commands.xstreams import (
    groups as stream_groups,
)
from pyrepl.commands.xstreams import (
    idmp as stream_idmp,
)
from pyrepl.commands.xstreams import (
    info as stream_info,
)
from pyrepl.commands.xstreams import (
    reads as stream_reads,
)
from pyrepl.commands.xstreams import (
    references as stream_references,
)
from pyrepl.commands.xstreams import (
    streams,
)
from pyrepl.commands.zsets import blocking_zsets, zsets
from pyrepl.commands.zsets import ranges as zset_ranges
from pyrepl.commands.zsets import store as zset_store

LISTED: Final[tuple[ModuleType, ...]] = (
    connection,
    client_admin,
    acl,
    capabilities,
    tracking,
    keys,
    scan,
    expiry,
    objects,
    dump,
    migrate,
    sort,
    databases,
    strings,
    comparisons,
    bits,
    bitfields,
    lcs,
    hyperloglogs,
    lists,
    list_edits,
    blocking_lists,
    sets,
    set_algebra,
    hashes,
    hash_ttl,
    hash_ttl_values,
    zsets,
    zset_ranges,
    zset_store,
    blocking_zsets,
    collection_scans,
    places,
    searches,
    vector_sets,
    vector_searches,
    streams,
    stream_idmp,
    stream_references,
    stream_reads,
    stream_groups,
    stream_claims,
    stream_info,
    transactions,
    pubsub,
    evals,
    script_admin,
    functions,
    change_streams,
    mailboxes,
    replication,
    server,
    cluster,
    modules,
    lolwut,
    aof,
    config_admin,
    slowlog,
    commandlog,
    hotkeys,
    latency,
    memory,
    debug,
)
