"""The cache of scripts, and the one that runs."""

from __future__ import annotations

from pyrepl.node.conditions import Conditions
from pyrepl.node.scripts import MOST_EVALS, Alone, CachedScript, Running, Scripts


class Forgetful:
    used_bytes = 7

    def __init__(self) -> None:
        self.forgotten: list[bytes] = []

    def forget(self, script_id: bytes) -> None:
        self.forgotten.append(script_id)


def script(number: int, *, is_loaded: bool = False) -> CachedScript:
    return CachedScript(b"%040x" % number, b"return %d" % number, 0, is_loaded)


def running() -> Running:
    return Running(b"sha", 0.0, 1, is_eval=True, is_read_only=False, allows_oom=False, from_master=False)


def test_scripts_of_eval_are_bounded_and_loaded_ones_stay() -> None:
    scripts = Scripts(Conditions())
    scripts.interpreter = forgetful = Forgetful()
    scripts.add(script(1_000_000, is_loaded=True))
    for number in range(MOST_EVALS + 2):
        scripts.add(script(number))
        scripts.note_use(b"%040x" % 0)
    assert len(scripts) == MOST_EVALS + 1 and scripts.evicted == 2
    assert scripts.find(b"%040x" % 0) is not None and scripts.find(b"%040x" % 1) is None
    assert forgetful.forgotten == [b"%040x" % 1, b"%040x" % 2]
    assert scripts.find(b"%040X" % 1_000_000) is not None
    used = scripts.text_bytes
    scripts.add(script(0, is_loaded=True))
    assert scripts.text_bytes == used and scripts.used_bytes == 7
    scripts.flush()
    assert len(scripts) == 0 and scripts.text_bytes == 0 and scripts.interpreter is None and scripts.used_bytes == 0


def test_what_runs() -> None:
    conditions = Conditions()
    scripts = Scripts(conditions)
    one = running()
    scripts.begin(one)
    assert scripts.running is one
    scripts.call_busy(True)
    assert conditions.guarded
    scripts.call_busy(False)
    scripts.end()
    assert scripts.running is None and not conditions.guarded


def test_nobody_outside() -> None:
    alone = Alone()
    alone.look(running())
    alone.ended(running())
    alone.log(3, b"text")
    assert alone.cpu_s() == 0.0
