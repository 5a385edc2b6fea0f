"""What a mailbox is called where the layout cannot store its name."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.maildir.fitting import fitted, mark
from pyrepl.mailbox.maildir.layout import LAYOUTS, MOST_PARTS

GUID = "0badcafe" * 4
BOTH = pytest.mark.parametrize("layout", LAYOUTS)


@pytest.mark.parametrize(
    ("layout", "name", "stored"),
    [
        ("maildir++", "Work/Sub", "Work/Sub"),
        ("maildir++", "v1.2", "v1_2 (0badcafe)"),
        ("maildir++", "INBOX/a.b/c", "INBOX/a_b/c (0badcafe)"),
        ("maildir++", "cur", "cur"),
        ("fs", "v1.2", "v1.2"),
        ("fs", "cur/Sub", "_cur/Sub (0badcafe)"),
        ("fs", "Sub/dovecot.x", "Sub/_dovecot.x (0badcafe)"),
    ],
)
def test_names(layout: str, name: str, stored: str) -> None:
    assert fitted(LAYOUTS[layout], name, GUID) == stored


LONG = [
    "N" * 250 + mark(GUID),
    "N" * 300,
    "a" * 200 + "/" + "b" * 250 + "." * 10,
    "/".join("é" * 40),
    "/".join("\N{GRINNING FACE}" * 40),
    "/".join(["x" * 20] * 40),
    "\N{GRINNING FACE}." * 100,
]


@BOTH
@pytest.mark.parametrize("name", LONG)
def test_a_long_name_is_cut_until_the_layout_takes_it(layout: str, name: str) -> None:
    """The name that a folder is found by is the one that it was given, so nobody thinks that a client renamed it."""
    kind = LAYOUTS[layout]
    stored = fitted(kind, name, GUID)
    assert kind.why_not(stored) is None and kind.name(kind.folder(stored)) == stored
    assert fitted(kind, stored, GUID) == stored and stored.count("/") < MOST_PARTS
    assert stored == name or stored.endswith(mark(GUID))


@BOTH
@pytest.mark.parametrize("name", ["../up", "a//b", "..", "~x", "a\n"])
def test_what_no_mailbox_can_be_called_stays_so(layout: str, name: str) -> None:
    assert fitted(LAYOUTS[layout], name, GUID) == name
