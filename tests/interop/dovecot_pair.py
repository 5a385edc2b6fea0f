"""Nodes that keep the same mailboxes, each with a Dovecot of its own that knows nothing of it."""

from __future__ import annotations

import imaplib
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.peers.dovecot import Dovecot, owner
from tests.peers.lab import Lab, wait_until
from tests.peers.ports import HOST, free_port
from tests.peers.proxy import Proxy

_TIMES: Final = {"mailbox-lease": "5000", "mailbox-root-timeout": "2000"}
SETTINGS: Final = {"mailbox-gate": "on", **_TIMES}
BY_DOVEADM: Final = {"mailbox-store": "doveadm", "mailbox-layout": "fs", "mailbox-poll": "200", **_TIMES}
_SAYS: Final = re.compile(rb"UID (\d+) FLAGS \((.*?)\) X-GUID \"?([^\" )]+)")
CONF: Final = Path(__file__).resolve().parents[2] / "conf"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
Shown = dict[int, tuple[frozenset[str], str]]
"""UID -> flags and GUID."""


class DovecotPair:
    """The cluster, and each node's Dovecot. The link between a and b goes through a proxy.

    `lmtp_ports` are those of the nodes, who answer when another node has the mail too; `more` directives of all.
    """

    def __init__(
        self,
        cluster: MailboxCluster,
        dovecots: dict[str, Dovecot],
        proxy: Proxy,
        more: Mapping[str, str],
        is_checked: bool,
    ) -> None:
        self.cluster = cluster
        self.dovecots = dovecots
        self.proxy = proxy
        self.lmtp_ports = {name: free_port() for name in dovecots}
        self._more = more
        self.is_checked = is_checked
        self.delays_s: dict[str, float] = {}
        """Node -> for how long each of its doveadms does nothing at first, from its next start on."""
        self.programs: dict[str, list[str]] = {}
        """Node -> the command by which it starts, from its next start on."""

    def start(self, *names: str) -> None:
        """Start nodes, for the first time or again."""
        for name in names:
            if name not in self.dovecots:
                self.cluster.start(name, **_TIMES)
                continue
            own = {**self._kept(self.dovecots[name], name), **self._more}
            if self.is_checked:
                own["mailbox-doveadm"] = shlex.join(self.dovecots[name].doveadm())
            if name == "b":
                a, proxy = self.cluster.ports["a"], self.proxy.port
                own["mailbox-members"] = self.cluster.members.replace(f":{a}", f":{proxy}")
            if name in self.programs:
                self.cluster.launch(name, self.programs[name], **own).wait_ready()
            else:
                self.cluster.start(name, **own)

    def _kept(self, dovecot: Dovecot, name: str) -> dict[str, str]:
        """The directives that say how its mail is kept."""
        if dovecot.driver != "maildir":
            # Where this Dovecot's doveadm sees it too.
            folder = dovecot.folder / "pyrepl"
            folder.mkdir(exist_ok=True)
            delay = ["sh", "-c", f'sleep {self.delays_s[name]}; exec "$@"', "sh"] if name in self.delays_s else []
            command = shlex.join([*delay, *dovecot.doveadm()])
            return {**BY_DOVEADM, "mailbox-doveadm": command, "mailbox-dir": str(folder)}
        return {
            **SETTINGS,
            "mailbox-maildir": f"{dovecot.maildirs}/%u",
            "mailbox-lmtp-port": str(self.lmtp_ports[name]),
            "mailbox-lmtp-backend": f"{HOST}:{dovecot.lmtp_port}",
        }

    def imap(self, name: str, folder: str = "INBOX") -> imaplib.IMAP4:
        """A session with a folder selected."""
        session = self.dovecots[name].imap(USER)
        assert session.select(folder)[0] == "OK"
        return session

    def wait_equal(self, *sessions: imaplib.IMAP4) -> Shown:
        """Wait until all sessions see the same; what that is."""

        def see_the_same() -> bool:
            first, *others = map(shown, sessions)
            return all(other == first for other in others)

        wait_until("all sessions see the same", see_the_same)
        return shown(sessions[0])


def append(session: imaplib.IMAP4, text: bytes, flags: str = "", folder: str = "INBOX") -> int:
    """The UID that APPEND states."""
    status, [said] = session.append(folder, flags, "", text)
    found = re.search(rb"APPENDUID \d+ (\d+)", said)
    assert status == "OK" and found, said
    return int(found[1])


def shown(session: imaplib.IMAP4) -> Shown:
    """What a session sees now."""
    session.noop()
    _, answers = session.uid("FETCH", "1:*", "(FLAGS X-GUID)")
    found: Shown = {}
    for answer in answers:
        said = _SAYS.search(answer) if isinstance(answer, bytes) else None
        if said:
            found[int(said[1])] = frozenset({*said[2].decode().split()} - {"\\Recent"}), said[3].decode()
    return dict(sorted(found.items()))


def _checking(cluster: MailboxCluster, name: str) -> str:
    """conf/dovecot-login-check.conf, with the script beside it, for this node."""
    folder = cluster.folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    ours = {
        "/usr/local/lib/pyrepl": str(folder),
        "user = vmail": f"user = {owner().pw_name}",
        "/opt/pyrepl/bin": str(Path(sys.executable).parent),
        "/run/pyrepl/mailbox": f"{folder}/socket",
    }
    lines, script = _sample("dovecot-login-check.conf", ours), _sample("dovecot-login-check.sh", ours)
    (folder / "dovecot-login-check.sh").write_text(script)
    (folder / "dovecot-login-check.sh").chmod(0o755)
    return lines


def _sample(name: str, ours: Mapping[str, str]) -> str:
    """A file of conf/ with what a test has in place of its paths and names."""
    sample = (CONF / name).read_text()
    for theirs, own in ours.items():
        sample = sample.replace(theirs, own)
    return sample


@contextmanager
def dovecot_pair(
    lab: Lab,
    names: str = "ab",
    *,
    users: Sequence[str] = (USER,),
    is_new: bool = True,
    versions: Mapping[str, str] = _NOTHING,
    settings: str = "",
    more: Mapping[str, str] = _NOTHING,
    checked: bool = False,
    told: str = "",
    drivers: Mapping[str, str] = _NOTHING,
) -> Iterator[DovecotPair]:
    """Nodes that have met, an INBOX if `is_new`, and Dovecots that told of no errors but those with `told` in them.

    w is a witness.

    They are of this machine's version, or of the one that `versions` has for a node, with these `settings` besides.
    `drivers`: node -> the format of its mail, which it keeps by doveadm; of the others it is maildir.
    `checked`: before a user logs in, modseqs are brought in line, as conf/dovecot-login-check.sh does it.
    """
    with ExitStack() as stack:
        cluster = MailboxCluster(lab, names)
        dovecots = {
            name: stack.enter_context(
                Dovecot(
                    users,
                    "fs" if name in drivers else "maildir++",
                    settings + (_checking(cluster, name) if checked else ""),
                    is_ours=True,
                    version=versions.get(name, ""),
                    driver=drivers.get(name, "maildir"),
                )
            )
            for name in names.replace("w", "")
        }
        pair = DovecotPair(cluster, dovecots, stack.enter_context(Proxy(cluster.ports["a"])), more, checked)
        pair.start(*names)
        if is_new:
            pair.cluster.client(names[0]).create(USER, "INBOX")
        for name in dovecots:
            pair.cluster.client(name).check()
        yield pair
        for dovecot in dovecots.values():
            wrong = [line for line in dovecot.log().splitlines() if "Corrupted" in line or "Error" in line]
            assert not [line for line in wrong if not told or told not in line], dovecot.log()
