"""Vector sets as plain data: sizes, equality, and which links Redis would refuse."""

from __future__ import annotations

import pytest

from pyrepl.rdb.vectors import BIN, NO_QUANT, Q8, VectorNode, VectorSetValue, why_links_unsound


def graph(*links: list[list[int]]) -> VectorSetValue:
    """A set whose elements have the ids 1, 2, ... and these links."""
    value = VectorSetValue(2, Q8)
    for number, of_node in enumerate(links, 1):
        value.add(VectorNode(b"e%d" % number, number, b"\x7f\x00", 1.0, 1.0, of_node))
    return value


@pytest.mark.parametrize(("quant", "dim", "size"), [(NO_QUANT, 3, 12), (Q8, 3, 3), (BIN, 64, 8), (BIN, 65, 16)])
def test_the_bytes_of_a_vector(quant: int, dim: int, size: int) -> None:
    assert VectorSetValue(dim, quant).vector_bytes == size


def test_what_it_holds() -> None:
    value = graph([[2]], [[1]])
    value.nodes[b"e2"].attributes = b"{}"
    assert len(value) == 2
    assert value.last_id == 2
    assert value.attributes_count == 1
    assert value.by_id[2] is value.nodes[b"e2"]
    assert "e1" in repr(value)


def test_equality_takes_links_in_any_order() -> None:
    assert graph([[2, 3]], [[1]], [[1]]) == graph([[3, 2]], [[1]], [[1]])
    assert graph([[2]], [[1]]) != graph([[]], [[]])
    assert graph([[]]) != "something else"
    assert graph([[]]).nodes[b"e1"] != "something else"


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        (([[2]], [[1]]), None),
        (([[], []], [[]]), None),
        (([[2]], [[]]), "element b'e1' has a link to 2 that is not mutual"),
        (([[1]],), "element b'e1' has a link to 1, which is no other element of its layer 0"),
        (([[7]],), "element b'e1' has a link to 7, which is no other element of its layer 0"),
        (([[2, 2]], [[1]]), "element b'e1' has a link twice"),
        (([[2], [2]], [[1]]), "element b'e1' has a link to 2, which is no other element of its layer 1"),
    ],
)
def test_unsound_links(links: tuple[list[list[int]], ...], reason: str | None) -> None:
    assert why_links_unsound(graph(*links)) == reason


def test_long_lists_of_links() -> None:
    ring = [[list(range(2, 302))], *([[1]] for _ in range(300))]
    assert why_links_unsound(graph(*ring)) is None
    ring[0][0].remove(150)
    assert why_links_unsound(graph(*ring)) == "element b'e150' has a link to 1 that is not mutual"
