"""The list of compiled modules: it names modules that there are, and a compiled form is complete and fresh."""

from __future__ import annotations

import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec

from pyrepl import kernels
from tests.house.source import ROOT


def _listed() -> list[str]:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrepl"]["kernels"]
    return [name for tool in ("mypyc", "cython") for name in tools[tool]]


def test_the_list_is_sorted_and_true() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrepl"]["kernels"]
    assert set(tools) == {"mypyc", "cython"}
    for names in tools.values():
        assert names == sorted(set(names))
    assert [name for name in _listed() if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []


def test_all_are_compiled_or_none() -> None:
    origins = {name: str(spec.origin) for name in _listed() if (spec := find_spec(name)) is not None}
    compiled = [name for name, origin in origins.items() if origin.endswith(tuple(EXTENSION_SUFFIXES))]
    assert compiled == (_listed() if kernels.form() == kernels.COMPILED else [])


def test_what_is_compiled_is_what_is_written() -> None:
    assert kernels.why_not_fresh() is None
    assert (ROOT / "pyrepl" / kernels.RECORD).exists() == (kernels.form() == kernels.COMPILED)
