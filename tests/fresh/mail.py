"""What a user's mail program does, on a machine that has nothing but Python: `python3 tests/fresh/mail.py VERB ...`.

Dovecot is asked on its usual ports of loopback. The verbs:

    save USER SUBJECT       by IMAP, into INBOX
    deliver USER SUBJECT    by LMTP, to the port of pyrepl before Dovecot's
    flag USER UID FLAG      sets a flag
    expunge USER UID        deletes a mail for good
    show USER               a line for each mail of INBOX: UID, flags, subject
    modseq USER             the number of the last change in INBOX
"""

from __future__ import annotations

import imaplib
import re
import smtplib
import sys
from collections.abc import Callable
from typing import Any, Final

HOST: Final = "127.0.0.1"
LMTP_PORT: Final = 2424
PASSWORD: Final = "secret"
PATIENCE_S: Final = 60.0
_SAYS: Final = re.compile(rb"UID (\d+) FLAGS \((.*?)\)")


def session(user: str) -> imaplib.IMAP4:
    """INBOX, open."""
    opened = imaplib.IMAP4(HOST, timeout=PATIENCE_S)
    opened.login(user, PASSWORD)
    done(opened.select())
    return opened


def done(answer: tuple[str, list[Any]]) -> list[Any]:
    """What was answered, if it was OK; it ends the program otherwise."""
    status, said = answer
    if status != "OK":
        sys.exit(f"{status}: {said}")
    return said


def text(subject: str) -> bytes:
    return f"From: eve@example.org\r\nSubject: {subject}\r\n\r\nHello.\r\n".encode()


def save(user: str, subject: str) -> None:
    done(session(user).append("INBOX", "", "", text(subject)))


def deliver(user: str, subject: str) -> None:
    with smtplib.LMTP(HOST, LMTP_PORT, timeout=PATIENCE_S) as server:
        server.sendmail("eve@example.org", [user], text(subject))


def flag(user: str, uid: str, name: str) -> None:
    done(session(user).uid("STORE", uid, "+FLAGS", f"({name})"))


def expunge(user: str, uid: str) -> None:
    opened = session(user)
    done(opened.uid("STORE", uid, "+FLAGS", "(\\Deleted)"))
    done(opened.expunge())


def show(user: str) -> None:
    for part in done(session(user).uid("FETCH", "1:*", "(FLAGS BODY.PEEK[HEADER.FIELDS (SUBJECT)])")):
        if isinstance(part, tuple) and (said := _SAYS.search(part[0])):
            flags = sorted({*said[2].decode().split()} - {"\\Recent"})
            print(int(said[1]), ",".join(flags) or "-", part[1].decode().strip())


def modseq(user: str) -> None:
    (said,) = done(session(user).status("INBOX", "(HIGHESTMODSEQ)"))
    print(said.split()[-1].decode().rstrip(")"))


if __name__ == "__main__":
    verb, *words = sys.argv[1:]
    verbs: dict[str, Callable[..., None]] = {
        "save": save, "deliver": deliver, "flag": flag, "expunge": expunge, "show": show, "modseq": modseq,
    }  # fmt: skip
    verbs[verb](*words)
