"""How each command is called: the words after its name, in the notation of `syntax_tree`.

COMMAND DOCS makes its trees of arguments from these lines, and redis-cli makes its hints from those trees. The words
are those of Redis 8.2, and of 8.6 for commands and options that came later. A command without arguments has no line;
neither has one that only nodes send to each other.
"""

from __future__ import annotations

from typing import Final

SYNTAX: Final[dict[str, str]] = {
    # connection
    "PING": "[message]",
    "ECHO": "message",
    "AUTH": "[username] password",
    "HELLO": "[protover [AUTH (username password)] [SETNAME clientname]]",
    "SELECT": "index",
    "CLIENT|LIST": "[TYPE (NORMAL | MASTER | REPLICA | PUBSUB)] [ID client-id...]",
    "CLIENT|SETNAME": "connection-name",
    "CLIENT|SETINFO": "(LIB-NAME libname | LIB-VER libver)",
    "CLIENT|KILL": (
        "(ip:port | ([ID client-id] | [TYPE (NORMAL | MASTER | SLAVE | REPLICA | PUBSUB)] | [USER username] | "
        "[ADDR ip:port] | [LADDR ip:port] | [SKIPME (YES | NO)] | [MAXAGE maxage])...)"
    ),
    "CLIENT|PAUSE": "timeout [WRITE | ALL]",
    "CLIENT|REPLY": "(ON | OFF | SKIP)",
    "CLIENT|NO-EVICT": "(ON | OFF)",
    "CLIENT|NO-TOUCH": "(ON | OFF)",
    "CLIENT|TRACKING": ("(ON | OFF) [REDIRECT client-id] [PREFIX prefix+...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]"),
    "CLIENT|CACHING": "(YES | NO)",
    "CLIENT|CAPA": "capability...",
    "CLIENT|IMPORT-SOURCE": "(ON | OFF)",
    "CLIENT|UNBLOCK": "client-id [TIMEOUT | ERROR]",
    # generic
    "DEL": "key...",
    "UNLINK": "key...",
    "EXISTS": "key...",
    "TOUCH": "key...",
    "TYPE": "key",
    "RENAME": "key newkey",
    "RENAMENX": "key newkey",
    "COPY": "source destination [DB destination-db] [REPLACE]",
    "MOVE": "key db",
    "KEYS": "pattern",
    "SCAN": "cursor [MATCH pattern] [COUNT count] [TYPE type]",
    "EXPIRE": "key seconds [NX | XX | GT | LT]",
    "PEXPIRE": "key milliseconds [NX | XX | GT | LT]",
    "EXPIREAT": "key unix-time-seconds [NX | XX | GT | LT]",
    "PEXPIREAT": "key unix-time-milliseconds [NX | XX | GT | LT]",
    "TTL": "key",
    "PTTL": "key",
    "EXPIRETIME": "key",
    "PEXPIRETIME": "key",
    "PERSIST": "key",
    "OBJECT|ENCODING": "key",
    "OBJECT|REFCOUNT": "key",
    "OBJECT|IDLETIME": "key",
    "OBJECT|FREQ": "key",
    "DUMP": "key",
    "RESTORE": "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
    "MIGRATE": (
        'host port (key | "") destination-db timeout [COPY] [REPLACE] '
        "[AUTH password | AUTH2 (username password)] [KEYS key...]"
    ),
    "SORT": "key [BY pattern] [LIMIT (offset count)] [GET pattern+...] [ASC | DESC] [ALPHA] [STORE destination]",
    "SORT_RO": "key [BY pattern] [LIMIT (offset count)] [GET pattern+...] [ASC | DESC] [ALPHA]",
    # server
    "SWAPDB": "index1 index2",
    "FLUSHDB": "[ASYNC | SYNC]",
    "FLUSHALL": "[ASYNC | SYNC]",
    # string
    "GET": "key",
    "SET": (
        "key value [NX | XX | IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest/integer | IFDNE "
        "ifdne-digest/integer] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
        "unix-time-milliseconds | KEEPTTL]"
    ),
    "SETNX": "key value",
    "SETEX": "key seconds value",
    "PSETEX": "key milliseconds value",
    "GETSET": "key value",
    "GETDEL": "key",
    "GETEX": "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]",
    "MGET": "key...",
    "MSET": "(key value)...",
    "MSETNX": "(key value)...",
    "MSETEX": (
        "numkeys (key value)... [NX | XX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT "
        "unix-time-milliseconds | KEEPTTL]"
    ),
    "INCR": "key",
    "DECR": "key",
    "INCRBY": "key increment",
    "DECRBY": "key decrement",
    "INCRBYFLOAT": "key increment/double",
    "APPEND": "key value",
    "STRLEN": "key",
    "GETRANGE": "key start end",
    "SUBSTR": "key start end",
    "SETRANGE": "key offset value",
    "DIGEST": "key",
    "DELEX": "key [IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest/integer | IFDNE ifdne-digest/integer]",
    "DELIFEQ": "key value",
    # vector set
    "VADD": (
        "key [REDUCE dim/integer] (FP32 | VALUES) vector element [CAS] [NOQUANT | BIN | Q8] "
        "[EF build-exploration-factor/integer] [SETATTR attributes] [M numlinks/integer]"
    ),
    "VREM": "key element",
    "VSETATTR": "key element json",
    "VGETATTR": "key element",
    "VCARD": "key",
    "VDIM": "key",
    "VISMEMBER": "key element",
    "VEMB": "key element [RAW]",
    "VLINKS": "key element [WITHSCORES]",
    "VINFO": "key",
    "VRANDMEMBER": "key [count]",
    "VRANGE": "key start/string end/string [count]",
    "VSIM": (
        "key (ELE | FP32 | VALUES) vector_or_element [WITHSCORES] [WITHATTRIBS] [COUNT count] "
        "[EPSILON max_distance/double] [EF search-exploration-factor/integer] [FILTER expression] "
        "[FILTER-EF max-filtering-effort/integer] [TRUTH] [NOTHREAD]"
    ),
    # bitmap
    "SETBIT": "key offset value/integer",
    "GETBIT": "key offset",
    "BITCOUNT": "key [start end [BYTE | BIT]]",
    "BITPOS": "key bit [start [end [BYTE | BIT]]]",
    "BITOP": "(AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE) destkey key...",
    "BITFIELD": (
        "key [GET (encoding offset) | [OVERFLOW (WRAP | SAT | FAIL)] (SET (encoding offset value/integer) | "
        "INCRBY (encoding offset increment))]..."
    ),
    "BITFIELD_RO": "key [GET (encoding offset)+...]",
    # geo
    "GEOADD": "key [NX | XX] [CH] (longitude latitude member)...",
    "GEOPOS": "key [member...]",
    "GEOHASH": "key [member...]",
    "GEODIST": "key member1 member2 [M | KM | FT | MI]",
    "GEOSEARCH": (
        "key (FROMMEMBER member | FROMLONLAT (longitude latitude)) ((BYRADIUS radius (M | KM | FT | MI)) | "
        "(BYBOX width height (M | KM | FT | MI))) [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]"
    ),
    "GEOSEARCHSTORE": (
        "destination source (FROMMEMBER member | FROMLONLAT (longitude latitude)) ((BYRADIUS radius "
        "(M | KM | FT | MI)) | (BYBOX width height (M | KM | FT | MI))) [ASC | DESC] [COUNT count [ANY]] [STOREDIST]"
    ),
    "GEORADIUS": (
        "key longitude latitude radius (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] "
        "[ASC | DESC] [STORE key | STOREDIST key]"
    ),
    "GEORADIUS_RO": (
        "key longitude latitude radius (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] "
        "[ASC | DESC]"
    ),
    "GEORADIUSBYMEMBER": (
        "key member radius (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC] "
        "[STORE key | STOREDIST key]"
    ),
    "GEORADIUSBYMEMBER_RO": (
        "key member radius (M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]"
    ),
    # hyperloglog
    "PFADD": "key [element...]",
    "PFCOUNT": "key...",
    "PFMERGE": "destkey [sourcekey...]",
    "PFDEBUG": "subcommand key",
    # string
    "LCS": "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
    # list
    "LPUSH": "key element...",
    "RPUSH": "key element...",
    "LPUSHX": "key element...",
    "RPUSHX": "key element...",
    "LPOP": "key [count]",
    "RPOP": "key [count]",
    "LLEN": "key",
    "LINDEX": "key index",
    "LRANGE": "key start stop",
    "LTRIM": "key start stop",
    "LMOVE": "source destination (LEFT | RIGHT) (LEFT | RIGHT)",
    "RPOPLPUSH": "source destination",
    "LMPOP": "numkeys key... (LEFT | RIGHT) [COUNT count]",
    "BLPOP": "key... timeout/double",
    "BRPOP": "key... timeout/double",
    "BLMOVE": "source destination (LEFT | RIGHT) (LEFT | RIGHT) timeout/double",
    "BRPOPLPUSH": "source destination timeout/double",
    "BLMPOP": "timeout/double numkeys key... (LEFT | RIGHT) [COUNT count]",
    "LSET": "key index element",
    "LINSERT": "key (BEFORE | AFTER) pivot element",
    "LREM": "key count element",
    "LPOS": "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
    # set
    "SADD": "key member...",
    "SREM": "key member...",
    "SMOVE": "source destination member",
    "SMEMBERS": "key",
    "SISMEMBER": "key member",
    "SMISMEMBER": "key member...",
    "SCARD": "key",
    "SPOP": "key [count]",
    "SRANDMEMBER": "key [count]",
    "SINTER": "key...",
    "SUNION": "key...",
    "SDIFF": "key...",
    "SINTERSTORE": "destination key...",
    "SUNIONSTORE": "destination key...",
    "SDIFFSTORE": "destination key...",
    "SINTERCARD": "numkeys key... [LIMIT limit]",
    # hash
    "HSET": "key (field value)...",
    "HMSET": "key (field value)...",
    "HSETNX": "key field value",
    "HGET": "key field",
    "HMGET": "key field...",
    "HGETALL": "key",
    "HKEYS": "key",
    "HVALS": "key",
    "HLEN": "key",
    "HEXISTS": "key field",
    "HSTRLEN": "key field",
    "HDEL": "key field...",
    "HINCRBY": "key field increment",
    "HINCRBYFLOAT": "key field increment/double",
    "HRANDFIELD": "key [count [WITHVALUES]]",
    "HEXPIRE": "key seconds [NX | XX | GT | LT] FIELDS (numfields field...)",
    "HPEXPIRE": "key milliseconds [NX | XX | GT | LT] FIELDS (numfields field...)",
    "HEXPIREAT": "key unix-time-seconds [NX | XX | GT | LT] FIELDS (numfields field...)",
    "HPEXPIREAT": "key unix-time-milliseconds [NX | XX | GT | LT] FIELDS (numfields field...)",
    "HPERSIST": "key FIELDS (numfields field...)",
    "HTTL": "key FIELDS (numfields field...)",
    "HPTTL": "key FIELDS (numfields field...)",
    "HEXPIRETIME": "key FIELDS (numfields field...)",
    "HPEXPIRETIME": "key FIELDS (numfields field...)",
    "HGETDEL": "key FIELDS (numfields field...)",
    "HGETEX": (
        "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] "
        "FIELDS (numfields field...)"
    ),
    "HSETEX": (
        "key [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds "
        "| KEEPTTL] FIELDS (numfields (field value)...)"
    ),
    # sorted-set
    "ZADD": "key [NX | XX] [GT | LT] [CH] [INCR] (score member)...",
    "ZINCRBY": "key increment member",
    "ZREM": "key member...",
    "ZCARD": "key",
    "ZSCORE": "key member",
    "ZMSCORE": "key member...",
    "ZRANK": "key member [WITHSCORE]",
    "ZREVRANK": "key member [WITHSCORE]",
    "ZPOPMIN": "key [count]",
    "ZPOPMAX": "key [count]",
    "ZMPOP": "numkeys key... (MIN | MAX) [COUNT count]",
    "BZPOPMIN": "key... timeout/double",
    "BZPOPMAX": "key... timeout/double",
    "BZMPOP": "timeout/double numkeys key... (MIN | MAX) [COUNT count]",
    "ZRANDMEMBER": "key [count [WITHSCORES]]",
    "ZRANGE": "key start/string stop/string [BYSCORE | BYLEX] [REV] [LIMIT (offset count)] [WITHSCORES]",
    "ZREVRANGE": "key start stop [WITHSCORES]",
    "ZRANGEBYSCORE": "key min max [WITHSCORES] [LIMIT (offset count)]",
    "ZREVRANGEBYSCORE": "key max min [WITHSCORES] [LIMIT (offset count)]",
    "ZRANGEBYLEX": "key min/string max/string [LIMIT (offset count)]",
    "ZREVRANGEBYLEX": "key max/string min/string [LIMIT (offset count)]",
    "ZRANGESTORE": "dst src min/string max/string [BYSCORE | BYLEX] [REV] [LIMIT (offset count)]",
    "ZCOUNT": "key min max",
    "ZLEXCOUNT": "key min/string max/string",
    "ZREMRANGEBYRANK": "key start stop",
    "ZREMRANGEBYSCORE": "key min max",
    "ZREMRANGEBYLEX": "key min/string max/string",
    "ZUNION": "numkeys key... [WEIGHTS weight...] [AGGREGATE (SUM | MIN | MAX)] [WITHSCORES]",
    "ZINTER": "numkeys key... [WEIGHTS weight...] [AGGREGATE (SUM | MIN | MAX)] [WITHSCORES]",
    "ZDIFF": "numkeys key... [WITHSCORES]",
    "ZUNIONSTORE": "destination numkeys key... [WEIGHTS weight...] [AGGREGATE (SUM | MIN | MAX)]",
    "ZINTERSTORE": "destination numkeys key... [WEIGHTS weight...] [AGGREGATE (SUM | MIN | MAX)]",
    "ZDIFFSTORE": "destination numkeys key...",
    "ZINTERCARD": "numkeys key... [LIMIT limit]",
    # hash
    "HSCAN": "key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
    # set
    "SSCAN": "key cursor [MATCH pattern] [COUNT count]",
    # sorted-set
    "ZSCAN": "key cursor [MATCH pattern] [COUNT count]",
    # stream
    "XADD": (
        "key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [(IDMPAUTO) pid | (IDMP) pid iid] "
        "[(MAXLEN | MINID) [= | ~] threshold [LIMIT count]] (* | id) (field value)..."
    ),
    "XLEN": "key",
    "XRANGE": "key start/string end/string [COUNT count]",
    "XREVRANGE": "key end/string start/string [COUNT count]",
    "XDEL": "key id...",
    "XDELEX": "key [KEEPREF | DELREF | ACKED] IDS (numids/integer id...)",
    "XACKDEL": "key group [KEEPREF | DELREF | ACKED] IDS (numids/integer id...)",
    "XTRIM": "key ((MAXLEN | MINID) [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED])",
    "XSETID": "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
    "XCFGSET": "key [(IDMP-DURATION) duration/integer] [(IDMP-MAXSIZE) maxsize/integer]",
    "XIDMPRECORD": "key pid iid stream-id",
    "XREAD": "[COUNT count] [BLOCK milliseconds] STREAMS (key... id...)",
    "XREADGROUP": "GROUP (group consumer) [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS (key... id...)",
    "XGROUP|CREATE": "key group (id | $) [MKSTREAM] [ENTRIESREAD entries-read]",
    "XGROUP|SETID": "key group (id | $) [ENTRIESREAD entries-read]",
    "XGROUP|DESTROY": "key group",
    "XGROUP|CREATECONSUMER": "key group consumer",
    "XGROUP|DELCONSUMER": "key group consumer",
    "XACK": "key group id...",
    "XPENDING": "key group [[IDLE min-idle-time/integer] start/string end/string count [consumer]]",
    "XCLAIM": (
        "key group consumer min-idle-time id... [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] "
        "[FORCE] [JUSTID] [LASTID lastid]"
    ),
    "XAUTOCLAIM": "key group consumer min-idle-time start/string [COUNT count] [JUSTID]",
    "XINFO|STREAM": "key [(FULL) [COUNT count]]",
    "XINFO|GROUPS": "key",
    "XINFO|CONSUMERS": "key group",
    # transactions
    "WATCH": "key...",
    # scripting
    "EVAL": "script numkeys/integer [key...] [arg...]",
    "EVALSHA": "sha1 numkeys/integer [key...] [arg...]",
    "EVAL_RO": "script numkeys/integer [key...] [arg...]",
    "EVALSHA_RO": "sha1 numkeys/integer [key...] [arg...]",
    "FCALL": "function numkeys/integer [key...] [arg...]",
    "FCALL_RO": "function numkeys/integer [key...] [arg...]",
    "FUNCTION|LOAD": "[REPLACE] function-code",
    "FUNCTION|DELETE": "library-name",
    "FUNCTION|LIST": "[LIBRARYNAME library-name-pattern] [WITHCODE]",
    "FUNCTION|RESTORE": "serialized-value [FLUSH | APPEND | REPLACE]",
    "FUNCTION|FLUSH": "[ASYNC | SYNC]",
    "SCRIPT|LOAD": "script",
    "SCRIPT|EXISTS": "sha1...",
    "SCRIPT|SHOW": "sha1",
    "SCRIPT|FLUSH": "[ASYNC | SYNC]",
    "SCRIPT|DEBUG": "(YES | SYNC | NO)",
    # pubsub
    "SUBSCRIBE": "channel...",
    "UNSUBSCRIBE": "[channel...]",
    "PSUBSCRIBE": "pattern...",
    "PUNSUBSCRIBE": "[pattern...]",
    "PUBLISH": "channel message",
    "SSUBSCRIBE": "shardchannel...",
    "SUNSUBSCRIBE": "[shardchannel...]",
    "SPUBLISH": "shardchannel message",
    "PUBSUB|CHANNELS": "[pattern]",
    "PUBSUB|NUMSUB": "[channel...]",
    "PUBSUB|SHARDCHANNELS": "[pattern]",
    "PUBSUB|SHARDNUMSUB": "[shardchannel...]",
    # stream
    "STREAMS.RESERVE": "stream [count]",
    "STREAMS.COMPLETE": "stream stream-id/integer [row...]",
    "STREAMS.ABORT": "stream stream-id/integer",
    "STREAMS.APPEND": "stream row...",
    "STREAMS.POSITION": "stream",
    # server
    "REPLICAOF": "(host port | (NO) ONE)",
    "SLAVEOF": "(host port | (NO) ONE)",
    # generic
    "WAIT": "numreplicas timeout",
    # server
    "PSYNC": "replicationid offset",
    "FAILOVER": "[TO (host port [FORCE])] [ABORT] [TIMEOUT milliseconds]",
    "INFO": "[section...]",
    "BGSAVE": "[SCHEDULE]",
    "SHUTDOWN": "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
    "LATENCY|HISTORY": "event",
    "LATENCY|GRAPH": "event",
    "LATENCY|HISTOGRAM": "[command...]",
    "LATENCY|RESET": "[event...]",
    "MODULE|LOAD": "path [arg...]",
    "MODULE|LOADEX": "path [CONFIG (name value)+...] [ARGS args...]",
    "MODULE|UNLOAD": "name",
    "LOLWUT": "[VERSION version]",
    "RESTORE-ASKING": "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
    "TRIMSLOTS": "RANGES (numranges (startslot endslot)...)",
    # cluster
    "CLUSTER|ADDSLOTS": "slot...",
    "CLUSTER|ADDSLOTSRANGE": "(start-slot end-slot)...",
    "CLUSTER|COUNT-FAILURE-REPORTS": "node-id",
    "CLUSTER|COUNTKEYSINSLOT": "slot",
    "CLUSTER|DELSLOTS": "slot...",
    "CLUSTER|DELSLOTSRANGE": "(start-slot end-slot)...",
    "CLUSTER|FAILOVER": "[FORCE | TAKEOVER]",
    "CLUSTER|FLUSHSLOT": "slot [ASYNC | SYNC]",
    "CLUSTER|FORGET": "node-id",
    "CLUSTER|GETKEYSINSLOT": "slot count",
    "CLUSTER|KEYSLOT": "key/string",
    "CLUSTER|MEET": "ip port [cluster-bus-port]",
    "CLUSTER|MIGRATESLOTS": "((SLOTSRANGE) (start-slot end-slot)... (NODE) node-id)...",
    "CLUSTER|MIGRATION": (
        "(IMPORT (start-slot end-slot)... | CANCEL (ID task-id | ALL) | STATUS ([ID task-id] | [ALL]))"
    ),
    "CLUSTER|REPLICAS": "node-id",
    "CLUSTER|REPLICATE": "node-id",
    "CLUSTER|RESET": "[HARD | SOFT]",
    "CLUSTER|SET-CONFIG-EPOCH": "config-epoch",
    "CLUSTER|SETSLOT": "slot (IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE)",
    "CLUSTER|SLAVES": "node-id",
    "CLUSTER|SLOT-STATS": ("(SLOTSRANGE (start-slot end-slot) | ORDERBY (metric [LIMIT limit] [ASC | DESC]))"),
    "CLUSTER|SYNCSLOTS": (
        "(SYNC (task-id (start-slot end-slot)...) | RDBCHANNEL task-id | (SNAPSHOT-EOF) | (STREAM-EOF) | "
        "ACK (state offset) | FAIL error | CONF (option... value...))"
    ),
    "CLUSTERSCAN": "cursor/string [MATCH match-pattern/pattern] [COUNT count] [TYPE type] [SLOT slot]",
    # generic
    "WAITAOF": "numlocal numreplicas timeout",
    # server
    "CONFIG|GET": "parameter...",
    "CONFIG|SET": "(parameter value)...",
    "ACL|CAT": "[category]",
    "ACL|DELUSER": "username...",
    "ACL|DRYRUN": "username command [arg...]",
    "ACL|GENPASS": "[bits/integer]",
    "ACL|GETUSER": "username",
    "ACL|LOG": "[count | RESET]",
    "ACL|SETUSER": "username [rule...]",
    "COMMAND|INFO": "[command-name...]",
    "COMMAND|DOCS": "[command-name...]",
    "COMMAND|LIST": "[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern)]",
    "COMMAND|GETKEYS": "command [arg...]",
    "COMMAND|GETKEYSANDFLAGS": "command [arg...]",
    "SLOWLOG|GET": "[count]",
    "HOTKEYS|START": (
        "METRICS (count [CPU] [NET]) [COUNT k/integer] [DURATION seconds] [SAMPLE ratio/integer] "
        "[SLOTS (count slot...)]"
    ),
    "MAILBOX|INFO": "user [mailbox]",
    "MAILBOX|MASTER": "user mailbox",
    "MAILBOX|CHECK": "[user]",
    "MAILBOX|ROOT": "FORCE",
    "MAILBOX|ALLOW": "user mailbox",
    "MAILBOX|DENY": "user mailbox",
    "MAILBOX|RENEW": "user mailbox",
    "MAILBOX|JOIN": "user",
    "MAILBOX|LEAVE": "[FORCE]",
    "MAILBOX|RESYNC": "user [mailbox]",
    "MAILBOX|MESSAGES": "user mailbox uid/integer count/integer",
    "COMMANDLOG|GET": "count (SLOW | LARGE-REQUEST | LARGE-REPLY)",
    "COMMANDLOG|LEN": "(SLOW | LARGE-REQUEST | LARGE-REPLY)",
    "COMMANDLOG|RESET": "(SLOW | LARGE-REQUEST | LARGE-REPLY)",
    "MEMORY|USAGE": "key [SAMPLES count]",
}
"""Name of a command, or of a subcommand (`CLIENT|LIST`) -> the words after it."""
