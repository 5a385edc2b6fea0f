"""A hot command does its work in one place: the function of its row calls what the dispatcher calls (`table.Words`).

return _LPUSH.run(call, [b"LPUSH", key, *elements])
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.source import ROOT, python, shown


def hot_rows(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, str, str]]:
    """(the function of a row, the row's name, what its `words` are called)."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for made in node.decorator_list:
            if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "command":
                words = next((given.value for given in made.keywords if given.arg == "words"), None)
                if words is not None:
                    assert isinstance(made.args[0], ast.Constant)
                    yield node, str(made.args[0].value), ast.unparse(words)


def only_passes_on(function: ast.FunctionDef, name: str, words: str) -> bool:
    """Is the docstring followed by that one line?"""
    if len(function.body) != 2 or not isinstance(function.body[1], ast.Return):
        return False
    return ast.unparse(function.body[1]).startswith(f"return {words}.run(call, [{name.encode()!r}, ")


def test_no_row_repeats_what_its_words_do() -> None:
    rows = [
        (shown(path), row)
        for path in python("pyrepl")
        if path.is_relative_to(ROOT / "pyrepl" / "commands")
        for row in hot_rows(ast.parse(path.read_text()))
    ]
    assert len(rows) > 10
    assert [f"{path}:{row[0].lineno}" for path, row in rows if not only_passes_on(*row)] == []


def test_a_repetition_is_seen() -> None:
    source = """
@command("GET", arity=2, words=_GET)
def get(call, key):
    "Summary."
    return {}
"""
    for body, passes in (('_GET.run(call, [b"GET", key])', True), ("call.db.read_as(bytes, key)", False)):
        [row] = hot_rows(ast.parse(source.format(body)))
        assert only_passes_on(*row) == passes
