"""SCRIPT."""

from __future__ import annotations

import hashlib

import pytest

from pyrepl.node.scripts import Running
from pyrepl.resp.reply import OK
from tests.unit.commands.rig import Rig

TEXT = "return 7"
SHA = hashlib.sha1(TEXT.encode()).hexdigest()


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_load_show_exists_and_flush(rig: Rig) -> None:
    assert rig.run("SCRIPT", "LOAD", TEXT) == SHA.encode()
    assert rig.run("EVALSHA", SHA.upper(), 0) == 7
    assert rig.run("SCRIPT", "SHOW", SHA) == TEXT.encode()
    assert rig.run("SCRIPT", "EXISTS", SHA, "x") == [1, 0]
    assert rig.run("SCRIPT", "FLUSH") == OK and rig.run("SCRIPT", "EXISTS", SHA) == [0]
    assert rig.error(f"SCRIPT SHOW {SHA}").startswith("NOSCRIPT") and rig.error(f"EVALSHA {SHA} 0").startswith(
        "NOSCRIPT"
    )
    assert rig.say("SCRIPT FLUSH ASYNC") == OK and rig.error("SCRIPT FLUSH NOW").startswith("ERR SCRIPT FLUSH only")


def test_debug_is_refused(rig: Rig) -> None:
    assert rig.say("SCRIPT DEBUG NO") == OK
    assert "no debugger" in rig.error("SCRIPT DEBUG YES") and "Use SCRIPT DEBUG" in rig.error("SCRIPT DEBUG X")
    assert isinstance(rig.say("SCRIPT HELP"), list)


def test_kill(rig: Rig) -> None:
    assert rig.error("SCRIPT KILL").startswith("NOTBUSY")
    running = Running(b"sha", 0.0, 1, is_eval=True, is_read_only=False, allows_oom=False, from_master=False)
    rig.node.scripts.begin(running)
    rig.node.scripts.call_busy(True)
    assert (
        rig.error("GET a") == "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
    )
    assert rig.error("SHUTDOWN").startswith("BUSY") and not rig.effects
    rig.say("SHUTDOWN NOSAVE")
    assert len(rig.effects) == 1
    running.wrote = True
    assert rig.error("SCRIPT KILL").startswith("UNKILLABLE Sorry")
    running.from_master = True
    assert rig.error("SCRIPT KILL").startswith("UNKILLABLE The busy script")
    running.wrote = running.from_master = False
    running.is_eval = False
    assert rig.error("SCRIPT KILL").startswith("BUSY") and not running.is_killed
    assert "FUNCTION KILL" in rig.error("GET a")
    running.is_eval = True
    assert rig.say("SCRIPT KILL") == OK and running.is_killed
