"""What is said of a machine. Whoever follows the advice hears of it no more."""

from __future__ import annotations

import pytest

from pyrepl.host.facts import Folder, Host, Wants
from pyrepl.host.rules import RULES, Finding, Verdict, findings, is_in_order

GB = 1 << 30
FOLDER = Folder("/data", None, 100 * GB, GB)
WANTS = Wants(
    descriptors=10_032,
    descriptors_liked=10_048,
    tcp_backlog=511,
    maxmemory_bytes=4 * GB,
    huge_pages=True,
    folder=FOLDER,
)
GOOD = Host(
    overcommit=1,
    huge_pages="madvise",
    somaxconn=4096,
    open_files=20_000,
    is_clock_set=True,
    clock_source="tsc",
    memory_bytes=16 * GB,
    swap_bytes=GB,
    swap_used_bytes=0,
)


def about(name: str, host: Host, wants: Wants = WANTS) -> Finding:
    [found] = [one for one in findings(host, wants) if one.about == name]
    return found


def test_a_good_machine() -> None:
    found = findings(GOOD, WANTS)
    assert [one.about for one in found if one.verdict is not Verdict.OK] == []
    assert len(found) == len(RULES)
    assert is_in_order(found)


def test_every_bad_finding_says_what_it_means_and_what_to_do() -> None:
    bad = Host(
        overcommit=2,
        huge_pages="always",
        somaxconn=128,
        open_files=1024,
        is_clock_set=False,
        clock_source="hpet",
        memory_bytes=4 * GB,
        swap_bytes=GB,
        swap_used_bytes=GB,
        namesake="0.11.5",
        is_compiled=False,
    )
    found = findings(bad, WANTS._replace(folder=Folder("/data", "there is no such folder")))
    assert [one.about for one in found if one.verdict is Verdict.OK] == []
    assert [one.about for one in found if not one.means or not one.to_do] == []
    assert not is_in_order(found)


def test_nothing_is_said_of_what_is_not_known() -> None:
    found = findings(Host(), WANTS._replace(folder=None))
    assert {one.about for one in found} == {"open files", "namesake", "form"}
    assert {one.verdict for one in found} == {Verdict.OK}


@pytest.mark.parametrize(("value", "verdict"), [(0, Verdict.ADVICE), (1, Verdict.OK), (2, Verdict.PROBLEM)])
def test_overcommit(value: int, verdict: Verdict) -> None:
    found = about("overcommit", GOOD._replace(overcommit=value))
    assert found.verdict is verdict
    assert ("vm.overcommit_memory=1" in found.to_do) is (verdict is not Verdict.OK)


def test_huge_pages_that_all_programs_get() -> None:
    found = about("huge pages", GOOD._replace(huge_pages="always"))
    assert found.verdict is Verdict.ADVICE and "echo madvise" in found.to_do


def test_huge_pages_that_nobody_gets_matter_where_they_would_be_used() -> None:
    never = GOOD._replace(huge_pages="never")
    assert about("huge pages", never).verdict is Verdict.ADVICE
    assert about("huge pages", never, WANTS._replace(huge_pages=False)).verdict is Verdict.OK
    assert about("huge pages", never._replace(is_compiled=False)).verdict is Verdict.OK


def test_a_queue_that_the_kernel_shortens() -> None:
    found = about("connection queue", GOOD._replace(somaxconn=510))
    assert found.verdict is Verdict.ADVICE and "net.core.somaxconn=511" in found.to_do
    assert about("connection queue", GOOD._replace(somaxconn=511)).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        (10_031, Verdict.PROBLEM),
        (10_032, Verdict.ADVICE),
        (10_047, Verdict.ADVICE),
        (10_048, Verdict.OK),
        (None, Verdict.OK),
    ],
)
def test_open_files(limit: int | None, verdict: Verdict) -> None:
    found = about("open files", GOOD._replace(open_files=limit))
    assert found.verdict is verdict
    assert ("10048" in found.to_do) is (verdict is not Verdict.OK)


def test_clock() -> None:
    assert about("clock", GOOD._replace(is_clock_set=False)).verdict is Verdict.ADVICE
    assert about("clock source", GOOD._replace(clock_source="xen")).verdict is Verdict.ADVICE


def test_maxmemory_leaves_room() -> None:
    tight = GOOD._replace(memory_bytes=5 * GB)
    found = about("memory", tight)
    assert found.verdict is Verdict.PROBLEM
    advised = int(found.to_do.split()[1])
    assert about("memory", tight, WANTS._replace(maxmemory_bytes=advised)).verdict is Verdict.OK
    assert about("memory", tight, WANTS._replace(maxmemory_bytes=advised + 1)).verdict is Verdict.PROBLEM
    assert "not set" in about("memory", tight, WANTS._replace(maxmemory_bytes=0)).found


def test_swap_is_fine_while_little_of_it_is_used() -> None:
    assert about("swap", GOOD._replace(swap_bytes=0)).found == "none"
    assert about("swap", GOOD._replace(swap_used_bytes=100 << 20)).verdict is Verdict.OK
    assert about("swap", GOOD._replace(swap_used_bytes=GB)).verdict is Verdict.ADVICE


def test_another_package_of_our_name() -> None:
    found = about("namesake", GOOD._replace(namesake="0.11.5"))
    assert found.verdict is Verdict.PROBLEM
    assert "0.11.5" in found.found and "pipx install pyrepl-server" in found.to_do


def test_the_pure_form() -> None:
    found = about("form", GOOD._replace(is_compiled=False))
    assert found.verdict is Verdict.ADVICE and "gcc python3-dev" in found.to_do
    found = about("form", GOOD._replace(is_compiled=False, why_not_compilable="a debug build of Python"))
    assert "a debug build of Python" in found.found and "gcc" not in found.to_do


@pytest.mark.parametrize(
    ("free_bytes", "verdict"),
    [(100 * GB, Verdict.OK), (3 * GB, Verdict.ADVICE), (GB - 1, Verdict.PROBLEM)],
)
def test_room_for_a_snapshot(free_bytes: int, verdict: Verdict) -> None:
    wants = WANTS._replace(folder=FOLDER._replace(free_bytes=free_bytes))
    assert about("dir", GOOD, wants).verdict is verdict
