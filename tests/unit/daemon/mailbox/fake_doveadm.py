"""A program that answers as doveadm of a Dovecot 2.4 does, as far as the store by doveadm asks it, with all mail in one
file; and what tests do to that mail, as a mail program would.

It was written from what a real doveadm 2.4.1 said; tests/interop/test_dovecot_dbox.py runs the store beside one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

USER: Final = "alice"
_NO_USER: Final = 67
_NO_MAILBOX: Final = 68
_CANNOT: Final = 65
Box = dict[str, Any]


class Mail:
    """All mail of one user, in one file of JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        state: dict[str, Any] = {"boxes": {}, "subscribed": [], "new": 0}
        if path.exists():
            state = json.loads(path.read_text())
        self.boxes: dict[str, Box] = state["boxes"]
        self.subscriptions: list[str] = state["subscribed"]
        self._new: int = state["new"]

    def write(self) -> None:
        rough = self._path.with_suffix(".tmp")
        rough.write_text(json.dumps({"boxes": self.boxes, "subscribed": self.subscriptions, "new": self._new}))
        rough.replace(self._path)

    def create(self, name: str, guid: str = "") -> Box:
        self._new += 1
        self.boxes[name] = {
            "guid": guid or f"{self._new:032x}",
            "uidvalidity": 1000 + self._new,
            "uidnext": 1,
            "highest": 1,
            "messages": [],
        }
        return self.boxes[name]

    def save(self, name: str, text: bytes, *, uid: int = 0, guid: str = "", received: int = 1, flags: str = "") -> int:
        """The UID that it got."""
        box = self.boxes[name]
        self._new += 1
        given = max(uid, int(box["uidnext"]))
        message = {
            "uid": given,
            "guid": guid or f"{self._new:032x}",
            "flags": flags.split(),
            "text": text.replace(b"\r\n", b"\n").decode("latin-1"),
            "received": received,
        }
        box["messages"].append(message)
        box["uidnext"] = given + 1
        box["highest"] += 1
        return given


class FakeDoveadm:
    """The program for one test, in its folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "mail.json"
        self.command = (sys.executable, "-I", "-S", __file__, str(self._path), str(folder / "asked"))
        self._asked = folder / "asked"
        with self:
            self.mail.create("INBOX", "f" * 32)

    def __enter__(self) -> Mail:
        """The mail, to be changed."""
        self.mail = Mail(self._path)
        return self.mail

    def __exit__(self, *error: object) -> None:
        self.mail.write()

    def box(self, name: str = "INBOX") -> Box:
        return Mail(self._path).boxes[name]

    def shown(self, name: str = "INBOX") -> dict[int, tuple[str, list[str], bytes]]:
        """UID -> GUID, flags, text."""
        messages = self.box(name)["messages"]
        return {each["uid"]: (each["guid"], each["flags"], each["text"].encode("latin-1")) for each in messages}

    def names(self) -> dict[str, str]:
        """Name -> GUID."""
        return {name: box["guid"] for name, box in Mail(self._path).boxes.items()}

    def subscribed(self) -> list[str]:
        return Mail(self._path).subscriptions

    def asked(self) -> list[str]:
        """What it was asked, without the user."""
        return self._asked.read_text().splitlines() if self._asked.exists() else []

    def refuse(self, reason: str) -> None:
        """From now on it fails; "" for no longer."""
        self._path.with_suffix(".refused").write_text(reason)

    def hold(self) -> None:
        """From now on it hangs, until it is let go."""
        self._path.with_suffix(".held").touch()

    def let_go(self) -> None:
        self._path.with_suffix(".held").unlink()


class _Failed(Exception):
    pass


def _end(code: int, why: str) -> _Failed:
    return _Failed(code, why)


def _options(words: list[str], flags: str = "") -> tuple[dict[str, str], list[str]]:
    """Options with their values (`flags` have none), and what stands behind them."""
    found: dict[str, str] = {}
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        found[word] = "" if word in flags.split() else words.pop(0)
    return found, words


def _search(mail: Mail, words: list[str]) -> list[tuple[str, Box, dict[str, Any]]]:
    """The messages that are meant."""
    found = [(name, box, message) for name, box in mail.boxes.items() for message in box["messages"]]
    while words:
        key = words.pop(0)
        if key == "mailbox-guid":
            guid = words.pop(0)
            found = [each for each in found if each[1]["guid"] == guid]
        elif key == "guid":
            guid = words.pop(0)
            found = [each for each in found if each[2]["guid"] == guid]
        elif key == "uid":
            uids = set()
            for part in words.pop(0).split(","):
                first, _, last = part.partition(":")
                uids |= set(range(int(first), int(last or first) + 1))
            found = [each for each in found if each[2]["uid"] in uids]
        elif key != "all":
            raise _end(64, f"unknown search {key}")
    return found


def _rows(mail: Mail, words: list[str]) -> list[dict[str, str]] | bytes:
    command = words.pop(0)
    if command in ("mailbox", "flags"):
        command = f"{command} {words.pop(0)}"
    options, rest = _options(words, "-s -e")
    users = [options.get("-u", "")]
    if "-F" in options:
        users = Path(options["-F"]).read_text().split()
    elif users != [USER]:
        raise _end(_NO_USER, "User doesn't exist")
    shown = {"username": USER} if "-F" in options else {}
    if USER not in users:
        return []
    if command == "mailbox status":
        return [
            {
                **shown,
                "mailbox": name,
                "guid": box["guid"],
                "messages": str(len(box["messages"])),
                "uidnext": str(box["uidnext"]),
                "uidvalidity": str(box["uidvalidity"]),
                "highestmodseq": str(box["highest"]),
            }
            for name, box in mail.boxes.items()
        ]
    if command == "mailbox list":
        return [{**shown, "mailbox": name} for name in mail.subscriptions]
    if command == "fetch" and rest.pop(0) == "uid size.physical text":
        texts = [(each["uid"], each["text"].encode("latin-1")) for _, _, each in _search(mail, rest)]
        return b"\f\n".join(b"uid: %d\nsize.physical: %d\ntext:\n%s" % (uid, len(text), text) for uid, text in texts)
    if command == "fetch":
        return [
            {
                "mailbox-guid": box["guid"],
                "uid": str(each["uid"]),
                "guid": each["guid"],
                "flags": " ".join(["\\Recent", *each["flags"]]),
                "size.physical": str(len(each["text"])),
                "date.received.unixtime": str(each["received"]),
            }
            for _, box, each in _search(mail, rest)
        ]
    _change(mail, command, options, rest)
    return b""


def _change(mail: Mail, command: str, options: dict[str, str], rest: list[str]) -> None:
    if command == "save":
        if options["-m"] not in mail.boxes:
            raise _end(_NO_MAILBOX, "Mailbox doesn't exist")
        text = sys.stdin.buffer.read()
        place = {"uid": int(options["-U"]), "guid": options["-g"], "received": int(options["-r"])}
        mail.save(options["-m"], text, **place)  # type: ignore[arg-type]
    elif command.startswith("flags "):
        how, flags = command.removeprefix("flags "), rest.pop(0).split()
        for _, box, each in _search(mail, rest):
            before = [] if how == "replace" else [flag for flag in each["flags"] if flag not in flags]
            each["flags"] = before + ([] if how == "remove" else flags)
            box["highest"] += 1
    elif command == "expunge":
        for _, box, each in _search(mail, rest):
            box["messages"].remove(each)
            box["highest"] += 1
    elif command == "mailbox create":
        if rest[0] in mail.boxes:
            raise _end(_CANNOT, "Mailbox already exists")
        mail.create(rest[0], options["-g"])
    elif command == "mailbox subscribe":
        mail.subscriptions.append(rest[0])
    elif command == "mailbox unsubscribe":
        mail.subscriptions.remove(rest[0])
    else:
        _change_box(mail, command, options, rest)


def _change_box(mail: Mail, command: str, options: dict[str, str], rest: list[str]) -> None:
    if rest[0] not in mail.boxes:
        raise _end(_NO_MAILBOX, "Mailbox doesn't exist")
    box = mail.boxes[rest[0]]
    if command == "mailbox rename":
        if rest[1] in mail.boxes:
            raise _end(_CANNOT, "Target mailbox already exists")
        mail.boxes[rest[1]] = mail.boxes.pop(rest[0])
    elif command == "mailbox delete":
        if box["messages"]:
            raise _end(_CANNOT, "Mailbox isn't empty")
        del mail.boxes[rest[0]]
    elif command == "mailbox update":
        box["guid"] = options.get("--mailbox-guid", box["guid"])
        box["uidvalidity"] = int(options.get("--uid-validity") or box["uidvalidity"])
        box["uidnext"] = max(box["uidnext"], int(options.get("--min-next-uid", 0)))
    else:
        raise _end(64, f"unknown command {command}")


def main() -> int:
    path, asked, words = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    with asked.open("a") as log:
        log.write(" ".join(words) + "\n")
    refused = path.with_suffix(".refused")
    if refused.exists() and refused.read_text():
        print(refused.read_text(), file=sys.stderr)
        return 75
    while path.with_suffix(".held").exists():
        time.sleep(0.01)
    is_json = words[:2] == ["-f", "json"]
    mail = Mail(path)
    try:
        found = _rows(mail, words[2:] if is_json else words)
    except _Failed as error:
        print(error.args[1], file=sys.stderr)
        return int(error.args[0])
    if isinstance(found, bytes):
        mail.write()
    sys.stdout.buffer.write(found if isinstance(found, bytes) else json.dumps(found).encode())
    return os.EX_OK


if __name__ == "__main__":
    raise SystemExit(main())
