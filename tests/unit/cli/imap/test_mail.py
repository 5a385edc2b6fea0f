"""`pyrepl mailbox compare` by IMAP, beside a server that says what the test wants it to say."""

from __future__ import annotations

import base64
import re
import socket
import socketserver
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

import pytest
from click.testing import CliRunner, Result

from cli.commands import cli
from cli.imap import mail as room
from cli.imap import session
from tests.peers.ports import free_port

CAPABLE: Final = "* CAPABILITY IMAP4rev1 AUTH=PLAIN NAMESPACE\r\n"
ANSWERS: Final = {
    "CAPABILITY": CAPABLE,
    "NAMESPACE": '* NAMESPACE (("" "/")) NIL NIL\r\n',
    "LSUB": '* LSUB () "/" Work\r\n',
    "LIST": '* LIST () "/" INBOX\r\n* LIST (\\NoSelect) "/" Group\r\n* LIST () "/" "007"\r\n* LIST () "/" Work\r\n',
    "STATUS": "* STATUS {name} (X-GUID 12 UIDVALIDITY 5 UIDNEXT 6)\r\n",
    "EXAMINE": "* 5 EXISTS\r\n",
}
"""First word of a command -> what comes before OK, or "! " and what comes in its place. `{name}` is the mailbox."""


def messages(*uids: int) -> str:
    said = (f"* {at} FETCH (UID {uid} FLAGS (\\Recent \\Seen) X-GUID G{uid})\r\n" for at, uid in enumerate(uids, 1))
    return "".join(said)


class Server(socketserver.ThreadingTCPServer):
    """`answers` by the first word of a command; `asked` are the commands that came."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, str]) -> None:
        self.answers = {**ANSWERS, "FETCH": messages(1, 2, 3, 4, 5), **answers}
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, *_: object) -> None:
        """Who asks may go at any time."""


class Handler(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        self.wfile.write(self.server.answers.get("HELLO", "* OK ready\r\n").encode())
        for line in self.rfile:
            tag, word, *rest = line.decode().rstrip().split(" ")
            self.server.asked.append(" ".join([word, *rest]))
            if word == "AUTHENTICATE" and not self.server.answers.get(word):
                self.wfile.write(b"+ \r\n")
                self.server.asked.append(base64.b64decode(self.rfile.readline()).decode().replace("\0", "|"))
            answer, quoted = self.server.answers.get(word, ""), re.search(r'".*?"', " ".join(rest))
            if answer == "CLOSE":
                return
            if word == "FETCH":
                first, last = map(int, rest[0].split(":"))
                fetched = re.findall(r"^\* [^*]*\r\n", answer, re.MULTILINE)
                answer = (
                    "".join(
                        each
                        for each in fetched
                        if not (number := re.match(r"\* (\d+) FETCH", each)) or (first <= int(number[1]) <= last)
                    )
                    if fetched
                    else answer
                )
            done = answer if answer.startswith("! ") else f"{answer}! OK done\r\n"
            self.wfile.write(done.replace("! ", f"{tag} ", 1).replace("{name}", quoted[0] if quoted else "").encode())


@contextmanager
def server(**answers: str) -> Iterator[Server]:
    with Server(answers) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


def compared(one: Server, other: Server, *options: str, url: str = "imap://alice:secret@") -> Result:
    addresses = [f"{url}127.0.0.1:{each.server_address[1]}" for each in (one, other)]
    return CliRunner().invoke(cli, ["mailbox", "compare", *addresses, *options])


def failure(*options: str, url: str = "imap://alice:secret@", **answers: str) -> str:
    """Why a server that answers like this cannot be compared."""
    with server() as good, server(**answers) as bad:
        result = compared(good, bad, *options, url=url)
        where = f"127.0.0.1:{bad.server_address[1]}"
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert "secret" not in result.stderr
    return result.stderr.strip().removeprefix(f"the mailboxes cannot be compared: {where}: ")


def test_messages_are_asked_for_in_pages_and_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "PAGE", 2)
    with server() as one, server(LIST='* LIST () "/" INBOX\r\n') as other:
        result = compared(one, other, "--only", "bob")
    ports = [each.server_address[1] for each in (one, other)]
    assert result.output.splitlines() == [
        f"bob 007: only at 127.0.0.1:{ports[0]}",
        f"bob Work: only at 127.0.0.1:{ports[0]}",
    ]
    assert [said for said in other.asked if said != "NOOP"] == [
        "CAPABILITY",
        "AUTHENTICATE PLAIN",
        "bob|alice|secret",
        "NAMESPACE",
        'LSUB "" "*"',
        'LIST "" "*"',
        'STATUS "INBOX" (X-GUID UIDVALIDITY UIDNEXT)',
        'EXAMINE "INBOX"',
        "FETCH 1:2 (UID FLAGS X-GUID)",
        "FETCH 3:4 (UID FLAGS X-GUID)",
        "FETCH 5:5 (UID FLAGS X-GUID)",
        "LOGOUT",
    ]


def test_what_differs_has_a_line_each() -> None:
    inbox = '* LIST () "/" INBOX\r\n'
    other_status = "* STATUS {name} (X-GUID 012 UIDVALIDITY 5 UIDNEXT 6)\r\n"
    with (
        server(LIST=inbox) as one,
        server(
            LIST=inbox, STATUS=other_status, EXAMINE="* 4 EXISTS\r\n", FETCH=messages(1, 2, 3, 4).replace("G3", "G9")
        ) as other,
    ):
        result = compared(one, other)
        ports = [each.server_address[1] for each in (one, other)]
    lines = result.output
    for name, port in zip("AB", ports, strict=True):
        lines = lines.replace(f"127.0.0.1:{port}", name)
    assert lines.splitlines() == [
        "alice INBOX: guid 12 at A, 012 at B",
        "alice INBOX: UID 3 G3: only at A",
        "alice INBOX: UID 3 G9: only at B",
        "alice INBOX: UID 5 G5: only at A",
    ]


def test_two_messages_of_one_guid() -> None:
    inbox = '* LIST () "/" INBOX\r\n'
    with (
        server(LIST=inbox, FETCH=messages(1, 2, 3, 4, 5).replace("G4", "G2")) as one,
        server(LIST=inbox, EXAMINE="* 4 EXISTS\r\n", FETCH=messages(1, 2, 3, 5)) as other,
    ):
        result = compared(one, other)
        where = f"127.0.0.1:{one.server_address[1]}"
    assert result.output.splitlines() == [f"alice INBOX: UID 4 G2 again, UID 4: only at {where}"]


def test_a_password_is_not_sent_where_none_is_taken() -> None:
    none = CAPABLE.replace("AUTH=PLAIN", "LOGINDISABLED")
    assert failure(CAPABILITY=none) == "it takes no password without TLS: give --tls, or imaps:// in place of imap://"
    assert "takes no password by AUTHENTICATE PLAIN" in failure(CAPABILITY=CAPABLE.replace("AUTH=PLAIN", ""))
    with server(CAPABILITY=none) as one:
        compared(one, one)
    assert {*one.asked} == {"CAPABILITY", "LOGOUT"}


def inbox(what: str) -> dict[str, str]:
    return {"LIST": f'* LIST () "/" INBOX\r\n{what}'}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"HELLO": "* BYE full\r\n"}, r"expected an IMAP server's greeting, got \* BYE full"),
        ({"HELLO": "220 smtp\r\n"}, r"expected an IMAP server's greeting, got 220 smtp"),
        ({"AUTHENTICATE": "! NO [AUTHENTICATIONFAILED] Failed.\r\n"}, r"it does not let alice in: NO \[AUTH.*Failed\."),
        (
            {"AUTHENTICATE": "! NO not by secret\r\n"},
            r"it does not let alice in: for a reason that has the password in it",
        ),
        ({"AUTHENTICATE": "CLOSE"}, r"it ended the connection"),
        ({"NAMESPACE": "! BAD what?\r\n"}, r"BAD what\?"),
        ({"NAMESPACE": ""}, r"it tells no NAMESPACE"),
        ({"NAMESPACE": "* NAMESPACE NIL\r\n"}, r"it tells no NAMESPACE"),
        ({"NAMESPACE": "* NAMESPACE ((NIL NIL)) NIL NIL\r\n"}, r"expected a prefix in NAMESPACE"),
        ({"LIST": ""}, r"it shows no INBOX"),
        (inbox("* LIST NIL\r\n"), r"expected a mailbox in LIST, got \(None,\)"),
        (inbox("* LIST (5)\r\n"), r"expected a mailbox in LIST"),
        (inbox('* LIST () "/" NIL\r\n'), r"expected a mailbox in LIST"),
        (inbox('* LIST () "/" a&b\r\n'), r"not in modified UTF-7"),
        (
            inbox('* LIST () "/" a/b\r\n* LIST () "." a.b\r\n'),
            r"two mailboxes that are called a/b here: b'a/b' and b'a\.b'",
        ),
        (inbox("* LIST () NIL {4}\r\na\r\nb\r\n"), r"not in modified UTF-7"),
        ({"STATUS": "! BAD unknown X-GUID\r\n"}, r"asked about the mailbox INBOX it said BAD unknown X-GUID"),
        ({"STATUS": ""}, r"it tells no STATUS of the mailbox INBOX"),
        ({"STATUS": "! NO \x1b[2J\x07\r\n"}, r"it said NO \\x1b\[2J\\x07$"),
        (inbox(f'* LIST () "/" {"a/" * 5000}b\r\n* LIST () "." {"a." * 5000}b\r\n'), r"^it has two mailboxes.{1,300}$"),
        (
            {"STATUS": "* STATUS Other (X-GUID 1 UIDVALIDITY 5 UIDNEXT 6)\r\n"},
            r"it tells no STATUS of the mailbox INBOX",
        ),
        ({"STATUS": "* STATUS {name} (UIDVALIDITY 5 UIDNEXT 6)\r\n"}, r"expected a text, got None"),
        ({"STATUS": "* STATUS {name} (X-GUID 1 UIDVALIDITY x UIDNEXT 6)\r\n"}, r"expected a number, got b'x'"),
        ({"EXAMINE": "! NO [NOPERM] no\r\n"}, r"asked about the mailbox 007 it said NO \[NOPERM\] no"),
        ({"EXAMINE": "* many EXISTS\r\n"}, r"expected a number, got b'many'"),
        ({"EXAMINE": ""}, r"does not say how many messages"),
        ({"EXAMINE": "* 4000000000 EXISTS\r\n"}, r"007 has 4,000,000,000 messages, and at most 2,000,000 are compared"),
        ({"FETCH": "* 1 FETCH (UID 1 FLAGS ())\r\n"}, r"of 5 messages of 007 it tells 0"),
        ({"FETCH": messages(1, 2, 3, 4)}, r"of 5 messages of 007 it tells 4: try again"),
        ({"FETCH": messages(1, 2, 3, 4, 5) + "* 2 EXPUNGE\r\n"}, r"messages of 007 were expunged while they were read"),
        ({"FETCH": "* 1 FETCH (UID 1 FLAGS (\r\n"}, r"expected the end of a list"),
        ({"FETCH": messages(1, 2, 3, 4, 5).replace("UID 5", "UID x")}, r"expected a number, got b'x'"),
        (
            {"FETCH": messages(1, 2, 3, 4, 5).replace("FLAGS (\\Recent \\Seen)", "FLAGS 5")},
            r"expected FLAGS of a message",
        ),
        ({"FETCH": "* " + "(" * 20_000 + "\r\n"}, r"at most 8 lists in each other"),
        ({"FETCH": "* 1 FETCH )\r\n"}, r"expected a word at byte 10"),
        ({"LIST": "CLOSE"}, r"it ended the connection"),
        ({"FETCH": "* 1 FETCH (UID 1 X-GUID {9999999999}\r\n"}, r"answers of at most 4194304 bytes, got a longer one"),
        ({"FETCH": "* 1 FETCH (UID 1 X-GUID " + "a" * 2_000_000}, r"lines of at most 1048576 bytes, got a longer one"),
        ({"HELLO": "* OK " + "a" * 2_000_000}, r"lines of at most 1048576 bytes, got a longer one"),
        ({"CAPABILITY": "other OK\r\n"}, r"expected the end of an answer, got other OK"),
    ],
)
def test_a_server_that_cannot_be_asked(answers: dict[str, str], why: str) -> None:
    said = failure(**answers)
    assert re.search(why, said), said


def test_what_real_servers_say_is_understood() -> None:
    """Keywords and names with brackets, texts as literals, answers that nobody asked for, INBOX in small letters."""
    names = '* LIST () "/" inbox\r\n* LIST () "/" "x[y"\r\n* LIST () "/" {3}\r\na b\r\n* LIST () "/" "a b"\r\n'
    more = "* 6 FETCH (FLAGS (\\Seen))\r\n* OK still here (\r\n* 1 RECENT\r\n"
    fetched = messages(1, 2, 3, 4, 5).replace("\\Seen", "\\Seen a[b nil").replace("G2", '"G\\"2"') + more
    with server(LIST=names, FETCH=fetched) as one, server(LIST=names, FETCH=fetched.replace("a[b", "b]a")) as other:
        assert compared(one, one).output == ""
        result = compared(one, other)
        here, there = (f"127.0.0.1:{each.server_address[1]}" for each in (one, other))
    assert len(result.output.splitlines()) == 15
    assert f'UID 2 G"2: \\Seen a[b NIL at {here}, \\Seen b]a NIL at {there}' in result.output


def test_an_answer_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MOST_ANSWER_BYTES", 5000)
    assert "answers of at most 5000 bytes" in failure(FETCH=messages(*range(1, 1000)), EXAMINE="* 999 EXISTS\r\n")


def test_a_name_that_would_be_two_lines() -> None:
    with server(LIST=ANSWERS["LIST"] + '* LIST () "/" "a&AAo-b"\r\n') as one, server() as other:
        result = compared(one, other)
    assert result.output.splitlines() == [f"alice a\\nb: only at 127.0.0.1:{one.server_address[1]}"]


def test_nobody_is_there_or_says_nothing() -> None:
    gone = f"imap://alice@127.0.0.1:{free_port()}"
    result = CliRunner().invoke(cli, ["mailbox", "compare", gone, gone])
    assert result.exit_code == 2 and "Connection refused" in result.stderr
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        result = CliRunner().invoke(cli, ["mailbox", "compare", *2 * [f"imap://alice@{where}"], "--timeout", "0.1"])
    assert result.exit_code == 2 and f"{where}: no answer within 0.1 s" in result.stderr
    with server() as one:
        result = compared(one, one, url="imaps://alice@")
    assert result.exit_code == 2 and "does not speak TLS on this port" in result.stderr


def test_an_answer_in_drops_has_one_time_for_all_of_it() -> None:
    def drip() -> None:
        conn, _ = listening.accept()
        with conn, suppress(OSError):
            while True:
                conn.sendall(b"*")
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=drip, daemon=True).start()
        where = f"imap://alice@127.0.0.1:{listening.getsockname()[1]}"
        result = CliRunner().invoke(cli, ["mailbox", "compare", where, where, "--timeout", "0.3"])
    assert result.exit_code == 2 and "no answer within 0.3 s" in result.stderr


def test_options_are_for_the_dovecot_where_a_node_is_the_other_end() -> None:
    with server() as dovecot, socket.create_server(("127.0.0.1", 0)) as listening:
        heard: list[bytes] = []

        def hear() -> None:
            conn, _ = listening.accept()
            with conn:
                heard.append(conn.recv(1000))
                conn.sendall(b"*0\r\n")

        thread = threading.Thread(target=hear, daemon=True)
        thread.start()
        node = f"127.0.0.1:{listening.getsockname()[1]}"
        words = [node, f"imap://alice@127.0.0.1:{dovecot.server_address[1]}", "--password", "secret"]
        assert CliRunner().invoke(cli, ["mailbox", "compare", *words]).exit_code == 1
        thread.join(5)
    assert heard == [b"*2\r\n$7\r\nMAILBOX\r\n$5\r\nUSERS\r\n"] and "|alice|secret" in dovecot.asked


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("imap://h:1", "imap://h:1"), "h:1: whose mailboxes are compared? imap://USER@HOST says so, or --user"),
        (("imap://alice@h:1", "imap://bob@h:1"), "two users, alice and bob: --only names one for both"),
        (("imap://alice@h:0", "imap://alice@h:1"), "or imap://USER@HOST"),
        (("imap://", "h:1"), "or imap://USER@HOST"),
        (("imap://alice:12#3@h", "h:1"), "or imap://USER@HOST"),
        (("imap://alice@h:1", "h:1", "--user", "root"), "h:1: alice by the address and root by --user"),
        (("imap://a%00b@h:1", "h:1"), "users and passwords have no NUL bytes"),
    ],
)
def test_addresses_that_are_not_understood(words: tuple[str, ...], why: str) -> None:
    result = CliRunner().invoke(cli, ["mailbox", "compare", *words])
    assert result.exit_code == 2 and why in " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
