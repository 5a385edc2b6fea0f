"""Stubs: each `.pyi` offers what the module beside it offers to Python, with the same parameters, and is installed."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tests.house.source import ROOT, shown, tracked

STUBS: Final = sorted(path for path in tracked() if path.suffix == ".pyi")

C_NAME: Final = re.compile(r"^cdef (?:inline )?(?:class (\w+)|[^(\n]*?(\w+)\()", re.MULTILINE)
"""What a `.pxd` says is C alone; `cpdef` would be Python's as well."""

VALUE: Final = "a value"
METHODS_OF_C: Final = frozenset({"__dealloc__", "__cinit__"})

Offer = dict[str, str]
"""Name -> what it is: a value, or a function's parameters; the members of a class as `Class.name`."""


@pytest.mark.parametrize("stub", STUBS, ids=shown)
def test_a_stub_says_what_its_module_offers(stub: Path) -> None:
    pxd = stub.with_suffix(".pxd")
    there = offered(stub.with_suffix(".py").read_text(), pxd.read_text() if pxd.exists() else "")
    assert offered(stub.read_text()) == there


def test_who_speaks_c_has_a_stub() -> None:
    """Others are Python to the letter, whose C types stand in the `.pxd`: mypy reads them as they are."""
    kernels = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrepl"]["kernels"]["cython"]
    sources = [ROOT / (name.replace(".", "/") + ".py") for name in kernels]
    speakers = {path for path in sources if "cython.cast(" in path.read_text()}
    assert len(STUBS) > 10 and speakers <= {stub.with_suffix(".py") for stub in STUBS}


def test_stubs_are_installed() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    shipped = setup["options.package_data"]["*"]
    assert {"py.typed", "*.pyi"} <= {pattern.strip() for pattern in shipped.split(",")}
    assert (ROOT / "pyrepl" / "py.typed").exists()


def test_what_is_compared() -> None:
    source = """
if cython.compiled:
    HIDDEN = cython.declare(cython.int, 1)
MOST = 5
_own = cython.declare(cython.int, 1)
def one(a: cython.int, /, b: bytes = b"", *, c: int) -> None: ...
@cython.cfunc
def two() -> cython.int: ...
def three(text: cython.p_uchar) -> cython.int: ...
@cython.cclass
class Thing:
    count = cython.declare(cython.int, visibility="public")
    _data: cython.p_uchar
    def __init__(self) -> None: ...
    def __dealloc__(self) -> None: ...
    def go(self, *rest: int) -> None: ...
    def _go(self) -> None: ...
class Hidden: ...
"""
    pxd = """
cdef class Hidden:
    cdef int go(self)

cdef int three(unsigned char* text) noexcept
cpdef one(a, b, c)
"""
    expected = {
        "MOST": VALUE,
        "one": "(a, /, b=..., *, c)",
        "Thing": "class",
        "Thing.count": VALUE,
        "Thing.__init__": "(self)",
        "Thing.go": "(self, *rest)",
    }
    assert offered(source, pxd) == expected
    stub = """
_T = TypeVar("_T")
MOST: Final = 5
def one(a: int, /, b: bytes = ..., *, c: int) -> None: ...
class Thing:
    count: int
    def __init__(self) -> None: ...
    def go(self, *rest: int) -> None: ...
"""
    assert offered(stub) == expected
    assert offered(stub.replace("b: bytes = ...", "b: bytes")) != expected
    assert offered(stub.replace("count: int", "size: int")) != expected


def offered(source: str, pxd: str = "") -> Offer:
    """What a module or its stub offers to Python, by its syntax tree; `pxd`: the declarations in C beside it."""
    of_c = {name for pair in C_NAME.findall(pxd) for name in pair if name}
    found: Offer = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            if node.name not in of_c and not node.name.startswith("_"):
                found[node.name] = "final class" if _is_final(node) else "class"
                for member in node.body:
                    found |= {f"{node.name}.{name}": what for name, what in _of(member, in_class=True).items()}
        else:
            found |= {name: what for name, what in _of(node).items() if name not in of_c}
    return found


def _of(node: ast.stmt, in_class: bool = False) -> Offer:
    """What one statement offers, which is no class. What stands under a condition is one form's affair."""
    if isinstance(node, ast.FunctionDef):
        is_own = node.name.startswith("_") and (not node.name.endswith("__") or node.name in METHODS_OF_C)
        return {} if is_own or "cfunc" in _decorators(node) else {node.name: _parameters(node.args)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        names = [node.target.id]
        if "cython." in ast.unparse(node.annotation):
            return {}
    elif isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        called = ast.unparse(node.value)
        is_public = in_class and "visibility='public'" in called
        if called.startswith("cython.declare(") and not is_public:
            return {}
    else:
        return {}
    return {name: VALUE for name in names if not name.startswith("_")}


def _parameters(given: ast.arguments) -> str:
    """Names, kinds and which have a default: not their types, which in the module may be C's."""
    for parameter in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]:
        if parameter is not None:
            parameter.annotation = None
    given.defaults = [ast.Constant(...) for _ in given.defaults]
    given.kw_defaults = [value and ast.Constant(...) for value in given.kw_defaults]
    return f"({ast.unparse(given)})".replace("Ellipsis", "...")


def _decorators(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    return [ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list]


def _is_final(node: ast.ClassDef) -> bool:
    return "final" in _decorators(node)
