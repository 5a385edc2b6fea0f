"""Whom the compiled form is for: the sentence for everybody else, and that nothing compiled is loaded there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pyrepl import kernels
from pyrepl.layout import NEWEST, OLDEST, Interpreter, refuse_compiled, running, why_not_compiled_for

USUAL = Interpreter()
OTHERS = {
    "pypy": USUAL._replace(implementation="pypy"),
    "Python 3.10": USUAL._replace(version=(3, 10)),
    "Python 3.15": USUAL._replace(version=(3, 15)),
    "free-threaded": USUAL._replace(is_free_threaded=True),
    "traces references": USUAL._replace(traces_references=True),
    "debug build": USUAL._replace(is_debug=True),
    "has 32": USUAL._replace(word_bits=32),
}


@pytest.mark.parametrize("version", [OLDEST, (3, 12), (3, 13), NEWEST])
def test_the_usual_builds_of_known_versions_are_compiled_for(version: tuple[int, int]) -> None:
    interpreter = USUAL._replace(version=version)
    assert why_not_compiled_for(interpreter) is None
    refuse_compiled(interpreter, lambda: True)


@pytest.mark.parametrize("words", OTHERS)
def test_others_are_not_and_the_reason_says_why(words: str) -> None:
    reason = why_not_compiled_for(OTHERS[words])
    assert reason is not None and words in reason and "\n" not in reason


@pytest.mark.parametrize("words", OTHERS)
def test_what_is_compiled_all_the_same_is_not_loaded(words: str) -> None:
    refuse_compiled(OTHERS[words], lambda: False)
    with pytest.raises(ImportError, match=f"{words}.*install pyrepl again"):
        refuse_compiled(OTHERS[words], lambda: True)


def test_the_one_that_runs_is_found() -> None:
    here = running()
    assert here.implementation == sys.implementation.name and here.version == sys.version_info[:2]
    assert here.word_bits in (32, 64)


@pytest.mark.parametrize(
    ("doctored", "words"),
    [
        ("sys.gettotalrefcount = lambda: 0", "debug build"),
        ("sys.getobjects = lambda limit: []", "traces references"),
        ("sys.abiflags = 't'", "free-threaded"),
        ("sys.version_info = (lambda old: type('V', (), {'major': 3, 'minor': 99}))(0)", "Python 3.99"),
    ],
)
def test_the_package_asks_before_it_loads_a_hot_module(doctored: str, words: str) -> None:
    """In an interpreter that says of itself that it is another; the pure form runs anywhere."""
    program = (
        f"import sys, json, hashlib, importlib.util, pathlib\n{doctored}\nimport pyrepl.resp.parser\nprint('loaded')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if kernels.form() == kernels.PURE:
        assert done.stdout == "loaded\n", done.stderr
    else:
        assert done.stdout == "" and words in done.stderr.splitlines()[-1]
        assert done.stderr.splitlines()[-1].startswith("ImportError: pyrepl's hot modules are compiled here")
