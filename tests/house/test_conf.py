"""The files in conf/: they load without a notice, speak of directives that exist, and the full sample is fresh."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyrepl.config.directives import ROWS
from pyrepl.config.loading import load
from pyrepl.config.parser import read_file
from pyrepl.config.render import rewrite, sample
from pyrepl.config.settings import Settings

CONF = Path(__file__).resolve().parents[2] / "conf"
SHORT = ["mailboxes.conf", "master.conf", "replica.conf"]
SWITCHED_OFF = re.compile(rb"^#(?=[a-z])", re.MULTILINE)
"""A directive that waits to be switched on has no space behind its #; remarks have one."""


def loaded(content: bytes) -> tuple[Settings, str | None]:
    settings = Settings()
    return settings, load(settings, read_file(content, "conf", lambda path: [])).notice()


@pytest.mark.parametrize("name", SHORT)
def test_loads_without_a_notice_as_it_is_and_with_everything_switched_on(name: str) -> None:
    content = (CONF / name).read_bytes()
    settings, notice = loaded(content)
    assert notice is None
    assert settings.protected_mode
    assert not settings.requirepass
    assert "127.0.0.1" in settings.bind
    everything, notice = loaded(SWITCHED_OFF.sub(b"", content))
    assert notice is None
    assert everything.requirepass == b"change-me"


@pytest.mark.parametrize("name", SHORT)
def test_says_things_under_their_present_names_and_survives_a_rewrite(name: str) -> None:
    content = SWITCHED_OFF.sub(b"", (CONF / name).read_bytes())
    names = {line.split()[0].decode() for line in content.splitlines() if line and not line.startswith(b"#")}
    assert names <= set(ROWS)
    assert rewrite(content, loaded(content)[0]) == content


@pytest.mark.parametrize("name", SHORT)
def test_is_short_and_remarks_on_what_it_sets(name: str) -> None:
    lines = (CONF / name).read_text().splitlines()
    assert len(lines) < 70
    assert max(map(len, lines)) <= 120
    assert sum(line.startswith("# ") for line in lines) >= 12


def test_the_full_sample_is_fresh() -> None:
    assert (CONF / "all.conf").read_bytes() == sample(), "run: python -m pyrepl.config > conf/all.conf"
