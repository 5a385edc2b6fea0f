"""ACL beside Redis 8.2.3: rule sets, what they allow, what is said of it and what is noted.

Both nodes are processes, as users belong to connections: an operator's, and one for each user that logs in. Replies
are compared whole. Times, ids and addresses differ, and the order in which Redis lists the commands of a category is
that of a hash table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest

from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply, Wire, Word

_CATEGORIES: Final = (
    "keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin fast slow blocking"
    " dangerous connection transaction scripting all nosuch"
)
_COMMANDS: Final = (
    "get set del mget mset exists lpush blpop sort sort_ro eval evalsha fcall client client|list client|id config"
    " config|get config|set object|encoding xread xadd zadd zrange zunionstore publish subscribe psubscribe spublish"
    " ssubscribe select multi exec ping auth hello reset debug acl|whoami acl memory|usage getex bitfield copy rename"
    " script|load function|load info xgroup xgroup|create geosearchstore lmpop smove migrate restore"
)
_PASSWORD: Final = re.compile(r"(modifier '[<>#!]|(?<=[ (])[<>#!])[^ ']*")
"""Redis repeats passwords in the errors of rules, pyrepl does not."""
PATTERNS: Final = ("*", "a*", "b?", "x", "app:*", "[ab]*", "", "a\\*")
CHANNELS: Final = ("*", "c*", "c1", "news.*", "c?")
KEYS: Final = ("a", "ab", "a*", "b1", "x", "app:1", "zz", "")

CALLS: Final[tuple[str, ...]] = (
    "GET {k}", "SET {k} v", "SET {k} v GET", "DEL {k} {k}", "MGET {k} {k} {k}", "MSET {k} 1 {k} 2", "EXISTS {k}",
    "TYPE {k}", "LPUSH {k} a", "BLPOP {k} {k} 0.01", "SORT {k}", "SORT {k} BY w_* GET # GET {k}", "SORT {k} STORE {k}",
    "SORT_RO {k} BY nosort GET p_*", "EVAL return(1) 1 {k}", "EVAL return(1) 0", "EVAL_RO return(1) 1 {k}",
    "CLIENT GETNAME", "CLIENT LIST", "CLIENT NOSUCH", "CONFIG GET hz",
    "OBJECT FREQ {k}", "XREAD STREAMS {k} {k} $ $",
    "ZUNIONSTORE {k} 2 {k} {k}", "ZADD {k} 1 m", "PUBLISH {c} m", "SPUBLISH {c} m", "SELECT 0", "SELECT 1", "PING",
    "ACL WHOAMI", "GETEX {k}", "BITFIELD {k} GET u8 0", "BITFIELD {k} SET u8 0 1", "COPY {k} {k}", "RENAME {k} {k}",
    "LMPOP 1 {k} LEFT", "SMOVE {k} {k} m", "GEOSEARCHSTORE {k} {k} FROMLONLAT 0 0 BYRADIUS 1 m", "MEMORY USAGE {k}",
    "NOSUCH {k}", "GET", "XGROUP CREATE {k} g $", "SCRIPT EXISTS x", "INFO server", "TOUCH {k} {k}", "LCS {k} {k}",
    "PFCOUNT {k} {k}", "PFMERGE {k} {k}", "SINTERCARD 1 {k}", "XADD {k} * f v", "OBJECT HELP", "COMMAND COUNT",
    "FCALL nosuch 1 {k}", "GETDEL {k}", "EXPIRE {k} 10", "HSET {k} f v", "SUNIONSTORE {k} {k} {k}", "WATCH {k}",
)  # fmt: skip


class Two:
    """The same said to both nodes."""

    def __init__(self, ours: Node, real: Node) -> None:
        self.nodes = (ours, real)
        self.wires: dict[str, tuple[Wire, Wire]] = {}

    def open(self, name: str) -> None:
        self.close(name)
        self.wires[name] = (self.nodes[0].connect(), self.nodes[1].connect())

    def close(self, name: str) -> None:
        for wire in self.wires.pop(name, ()):
            wire.close()

    def say(self, name: str, *words: Word) -> Any:
        """Say a command on the connection of this name; the reply, which both nodes give."""
        if name not in self.wires:
            self.open(name)
        said = [asked(wire, words) for wire in self.wires[name]]
        assert said[0] == said[1], (name, words, asked(self.wires[name][1], ("ACL", "LIST")))
        return said[0]

    def end(self) -> None:
        for name in list(self.wires):
            self.close(name)


def asked(wire: Wire, words: tuple[Word, ...]) -> Any:
    try:
        reply = wire.call(*words)
    except ErrorReply as error:
        return ("error", _PASSWORD.sub(r"\1(redacted)", str(error)))
    except (EOFError, ConnectionError):
        return "closed"
    name = [word.upper() for word in words[:2] if isinstance(word, str)]
    if name == ["ACL", "CAT"] and len(words) == 3:
        return sorted(reply)
    if name in (["ACL", "LOG"], ["CLIENT", "LIST"], ["CLIENT", "ID"], ["INFO", "SERVER"], ["CONFIG", "GET"]):
        return [alike(entry) for entry in reply] if isinstance(reply, list) else type(reply)
    return reply if name[:1] not in (["XADD"], ["COMMAND"]) and name != ["MEMORY", "USAGE"] else type(reply)


def alike(entry: Any) -> Any:
    """An entry of ACL LOG without what differs between nodes."""
    if not isinstance(entry, list):
        return entry
    fields = dict(zip(entry[::2], entry[1::2]))
    info = re.search(rb"user=(\S*).*", fields.pop(b"client-info"))
    for name in (b"age-seconds", b"timestamp-created", b"timestamp-last-updated"):
        assert fields.pop(name) is not None
    return fields, info and info[1]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, Node]]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab.start("pyrepl"), lab.start("redis8")


@pytest.fixture
def two(nodes: tuple[Node, Node]) -> Iterator[Two]:
    two = Two(*nodes)
    yield two
    for user in two.say("operator", "ACL", "USERS"):
        if user != b"default":
            two.say("operator", "ACL", "DELUSER", user)
    two.say("operator", "ACL", "LOG", "RESET")
    two.say("operator", "FLUSHALL")
    two.end()


def rule(rng: Random) -> str:
    """One rule; about one in ten cannot be followed."""
    sign = rng.choice("++-")
    kind = rng.randrange(16)
    if kind < 4:
        return sign + "@" + rng.choice(_CATEGORIES.split())
    if kind < 8:
        name = rng.choice(_COMMANDS.split())
        return sign + (name.upper() if rng.random() < 0.2 else name)
    if kind < 10:
        return rng.choice(("~", "~", "%R~", "%W~", "%RW~", "%wr~", "%~", "%RR~")) + rng.choice(PATTERNS)
    if kind == 10:
        return "&" + rng.choice(CHANNELS)
    if kind == 11:
        return rng.choice(("+select|0", "+SELECT|1", "-select|0", "+client|nosuch", "+get|", "+config|get|x", "+x|y"))
    if kind == 12:
        return rng.choice(
            (">p1", ">p2", "<p1", "#" + "ab" * 32, "#AB", "!" + "ab" * 32, "nopass", "resetpass", "on", "off", "")
        )
    if kind == 13:
        return rng.choice(
            ("allkeys", "resetkeys", "allchannels", "resetchannels", "allcommands", "nocommands", "reset", "nonsense")
        )
    if kind == 14:
        return rng.choice(
            ("sanitize-payload", "skip-sanitize-payload", "clearselectors", "AllKeys", "~* ", "+@", "(", ")")
        )
    return "(" + " ".join(rule(rng).replace("(", "").replace(")", "") for _ in range(rng.randrange(4))) + ")"


def call(rng: Random) -> list[str]:
    text = rng.choice(CALLS)
    words = text.split(" ")
    return [word.format(k=rng.choice(KEYS), c=rng.choice(("c1", "cx", "news.1", "d"))) for word in words]


@pytest.mark.parametrize("seed", range(6))
def test_rule_sets(two: Two, seed: int) -> None:
    """100 rule sets for each seed, with what they allow of ten commands each."""
    rng = Random(f"rules {seed}")
    for _ in range(100):
        user = rng.choice(("alice", "bob", "carol"))
        if rng.random() < 0.3:
            two.say("operator", "ACL", "SETUSER", user, "reset")
        two.say("operator", "ACL", "SETUSER", user, *(rule(rng) for _ in range(rng.randrange(1, 6))))
        two.say("operator", "ACL", "LIST")
        two.say("operator", "ACL", "GETUSER", user)
        for _ in range(10):
            two.say("operator", "ACL", "DRYRUN", user, *call(rng))


@pytest.mark.parametrize("seed", range(4))
def test_users_at_work(two: Two, seed: int) -> None:
    """Users run commands, plain, in MULTI and in scripts, while their rules change; what is refused is noted."""
    rng = Random(f"work {seed}")
    users = ("alice", "bob")
    for user in users:
        two.say("operator", "ACL", "SETUSER", user, "on", "nopass", "+@all", "~*", "&*")
        two.say(user, "AUTH", user, "x")
    for step in range(250):
        user = rng.choice(users)
        if rng.random() < 0.15:
            two.say("operator", "ACL", "SETUSER", user, *(harmless(rng) for _ in range(rng.randrange(1, 4))))
        way = rng.random()
        words = call(rng)
        if words[0] in ("NOSUCH", "WATCH", "BLPOP"):
            words = ["PING"]
        if way < 0.6:
            two.say(user, *words)
        elif way < 0.8:
            two.say(user, "MULTI")
            two.say(user, *words)
            second = call(rng)
            two.say(user, *second)
            if rng.random() < 0.4:
                two.say("operator", "ACL", "SETUSER", user, harmless(rng))
            queued = [asked(wire, ("EXEC",)) for wire in two.wires[user]]
            assert [plain(reply) for reply in queued[:1]] == [plain(reply) for reply in queued[1:]], (
                step,
                words,
                second,
                queued,
            )
        else:
            script = "return {pcall(function() return redis.call(unpack(ARGV)) end), redis.acl_check_cmd(unpack(ARGV))}"
            said = [asked(wire, ("EVAL", script, "0", *words)) for wire in two.wires[user]]
            assert plain(said[0]) == plain(said[1]), (step, words)
            if words[0] in ("GET", "SET", "LPUSH", "TYPE") and len(words) > 1:
                two.say(user, "EVAL", "return redis.call(unpack(ARGV))", "0", *words)
        two.say(user, "DISCARD")
        two.say("operator", "ACL", "LOG", "3")
    two.say("operator", "ACL", "LOG")
    two.say("operator", "ACL", "LOG", "-1")
    two.say("operator", "ACL", "LOG", "x")


def plain(reply: Any) -> Any:
    """A reply whose parts differ between nodes as in `asked`."""
    if isinstance(reply, list):
        return [plain(part) for part in reply]
    if isinstance(reply, ErrorReply):
        return str(reply)
    if isinstance(reply, bytes) and (reply.startswith((b"id=", b"# Server")) or re.fullmatch(rb"\d+-\d+", reply)):
        return "text"
    return type(reply) if isinstance(reply, int) and reply > 20 else reply


def harmless(rng: Random) -> str:
    """A rule that never shuts the user out."""
    while (made := rule(rng)) in ("off", "reset", "resetpass") or made[:1] in ("<", ">", "#", "!", ""):
        pass
    return made
