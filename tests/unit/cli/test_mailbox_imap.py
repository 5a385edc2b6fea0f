"""`pyrepl mailbox compare` by IMAP, beside a server that says what the test wants it to say."""

from __future__ import annotations

import base64
import re
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pytest
from click.testing import CliRunner, Result

from cli import mailbox_imap as room
from cli.commands import cli
from tests.peers.ports import free_port

CAPABLE: Final = "* CAPABILITY IMAP4rev1 AUTH=PLAIN NAMESPACE\r\n"
ANSWERS: Final = {
    "CAPABILITY": CAPABLE,
    "NAMESPACE": '* NAMESPACE (("" "/")) NIL NIL\r\n',
    "LSUB": '* LSUB () "/" Work\r\n',
    "LIST": '* LIST () "/" INBOX\r\n* LIST (\\NoSelect) "/" Group\r\n* LIST () "/" "007"\r\n* LIST () "/" Work\r\n',
    "STATUS": "* STATUS x (X-GUID 12 UIDVALIDITY 5 UIDNEXT 6)\r\n",
    "EXAMINE": "* 5 EXISTS\r\n",
}
"""First word of a command -> what comes before OK."""


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
        self.wfile.write(b"* OK ready\r\n")
        for line in self.rfile:
            tag, word, *rest = line.decode().split()
            self.server.asked.append(" ".join([word, *rest]))
            if word == "AUTHENTICATE":
                self.wfile.write(b"+ \r\n")
                self.server.asked.append(base64.b64decode(self.rfile.readline()).decode().replace("\0", "|"))
            answer = self.server.answers.get(word, "")
            if answer == "CLOSE":
                return
            done = answer if answer.startswith("! ") else f"{answer}! OK done\r\n"
            self.wfile.write(done.replace("! ", f"{tag} ").encode())


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
    assert [said for said in other.asked if said not in ("NOOP", "CAPABILITY")] == [
        "AUTHENTICATE PLAIN",
        "bob|alice|secret",
        "NAMESPACE",
        'LSUB "" "*"',
        'LIST "" "*"',
        'STATUS "INBOX" (X-GUID UIDVALIDITY UIDNEXT)',
        'EXAMINE "INBOX"',
        "FETCH 1,2 (UID FLAGS X-GUID)",
        "FETCH 3,4 (UID FLAGS X-GUID)",
        "FETCH 5 (UID FLAGS X-GUID)",
        "LOGOUT",
    ]


def test_what_differs_has_a_line_each() -> None:
    inbox = '* LIST () "/" INBOX\r\n'
    other_status = "* STATUS x (X-GUID 012 UIDVALIDITY 5 UIDNEXT 6)\r\n"
    with (
        server(LIST=inbox) as one,
        server(LIST=inbox, STATUS=other_status, FETCH=messages(1, 2, 3, 4).replace("G3", "G9")) as other,
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
        server(LIST=inbox, FETCH=messages(1, 2, 3, 5).replace("G4", "G2")) as other,
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
    assert {*one.asked} <= {"CAPABILITY", "LOGOUT"}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (
            {"AUTHENTICATE": "! NO [AUTHENTICATIONFAILED] Failed.\r\n"},
            r"it does not let alice in: .*AUTHENTICATIONFAILED",
        ),
        ({"NAMESPACE": "! BAD what?\r\n"}, r"it does not answer as a Dovecot does: .*BAD"),
        ({"STATUS": "! BAD unknown X-GUID\r\n"}, r"it does not answer as a Dovecot does: .*X-GUID"),
        ({"STATUS": "* STATUS x (UIDVALIDITY 5 UIDNEXT 6)\r\n"}, r"as a Dovecot does: it does not say X-GUID"),
        ({"FETCH": "* 1 FETCH (UID 1 FLAGS ())\r\n"}, r"as a Dovecot does: it does not say X-GUID"),
        ({"FETCH": "* 1 FETCH (UID 1 FLAGS (\r\n"}, r"it does not answer as a Dovecot does: "),
        ({"FETCH": "* 1 FETCH (UID x FLAGS () X-GUID a)\r\n"}, r"it does not answer as a Dovecot does: invalid UID"),
        ({"EXAMINE": "* many EXISTS\r\n"}, r"the connection is given up: .*unexpected response"),
        ({"LIST": "CLOSE"}, r"the connection is given up: .*EOF"),
        ({"FETCH": "* 1 FETCH (UID 1 X-GUID {99999999999}\r\n"}, r"an answer has more than 67108864 bytes"),
        ({"FETCH": "* 1 FETCH (UID 1 X-GUID " + "a" * 2_000_000}, r"got more than 1000000 bytes"),
    ],
)
def test_a_server_that_cannot_be_asked(answers: dict[str, str], why: str) -> None:
    said = failure(**answers)
    assert re.search(why, said), said


def test_an_answer_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_ANSWER_BYTES", 5000)
    assert "an answer has more than 5000 bytes" in failure(FETCH=messages(*range(1, 1000)))


def test_nobody_is_there_or_says_nothing() -> None:
    gone = f"imap://alice@127.0.0.1:{free_port()}"
    result = CliRunner().invoke(cli, ["mailbox", "compare", gone, gone])
    assert result.exit_code == 2 and "Connection refused" in result.stderr
    with server() as one:
        one.shutdown()
        result = compared(one, one, "--timeout", "0.1")
        assert result.exit_code == 2 and "no answer within 0.1 s" in result.stderr
        threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True).start()
        result = CliRunner().invoke(
            cli, ["mailbox", "compare", *2 * [f"imaps://alice@127.0.0.1:{one.server_address[1]}"]]
        )
        assert result.exit_code == 2 and "does not speak TLS on this port" in result.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("imap://h:1", "imap://h:1"), "h:1: whose mailboxes are compared? imap://USER@HOST says so, or --user"),
        (("imap://alice@h:1", "imap://bob@h:1"), "two users, alice and bob: --only names one for both"),
        (("imap://alice@h:0", "imap://alice@h:1"), "or imap://USER@HOST"),
        (("imap://", "h:1"), "or imap://USER@HOST"),
    ],
)
def test_addresses_that_are_not_understood(words: tuple[str, str], why: str) -> None:
    result = CliRunner().invoke(cli, ["mailbox", "compare", *words])
    assert result.exit_code == 2 and why in " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
