"""Which tests are run on the pure form as well (tests/forms.py), by examples of each kind."""

from __future__ import annotations

import pytest

from tests import forms
from tests.house.source import ROOT, python


@pytest.fixture(scope="module")
def chosen() -> set[str]:
    return set(forms.chosen())


def test_every_compiled_module_has_its_own_tests_there(chosen: set[str]) -> None:
    own = {
        f"tests/unit/{'/'.join(room)}/test_{name}.py"
        for _, *room, name in (kernel.split(".") for kernel in forms.kernels())
    }
    assert {name.replace("//", "/") for name in own} - chosen == set()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tests/unit/store/test_key_round.py", "it imports one"),
        ("tests/unit/replication/test_session.py", "it imports one by way of others"),
        ("tests/property/test_differential_mixed.py", "a helper looks for commands by name"),
        ("tests/unit/cli/test_commands.py", "it starts nodes"),
        ("tests/interop/test_chain.py", "a node between real servers"),
        ("tests/unit/daemon/clients/test_poller.py", "it is compiled itself"),
        ("tests/house/test_kernels.py", "it asks which form there is"),
    ],
)
def test_what_is_run_twice(chosen: set[str], name: str, why: str) -> None:
    assert name in chosen, why


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tests/unit/topology/test_tree.py", "nothing compiled is near"),
        ("tests/house/test_words.py", "it reads texts"),
        ("tests/house/test_guards.py", "it reads sources"),
        ("tests/property/test_differential_zsets.py", "the mixed ones have these commands too"),
        ("tests/interop/test_matrix.py", "the chains say it of real servers"),
        ("tests/property/test_metrics_growth.py", "what is compiled there has tests of its own"),
        ("tests/unit/daemon/mailbox/test_conns.py", "what it runs is tested without a daemon"),
        ("tests/fault/test_storm.py", "a node is slower, and no more is said"),
    ],
)
def test_what_is_run_once(chosen: set[str], name: str, why: str) -> None:
    assert (ROOT / name).exists()
    assert name not in chosen, why


def test_what_others_import_is_reached() -> None:
    imports = forms.Imports(python("pyrepl", "tests"))
    reached = imports.reached("tests.unit.replication.test_session")
    assert {"pyrepl.replication.session", "pyrepl.replication.backlog", "pyrepl.replication", "pyrepl"} <= reached
