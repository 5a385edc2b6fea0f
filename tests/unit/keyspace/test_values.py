"""The types of values: their own bookkeeping, and the way to and from the plain forms of the snapshot format."""

from __future__ import annotations

from collections import Counter, deque
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.keyspace.packed import PackedList
from pyrepl.keyspace.values import (
    HashValue,
    ListValue,
    SetValue,
    Value,
    ZsetValue,
    from_plain,
    is_string,
    plain_value,
    type_name,
)
from pyrepl.rdb.values import HashWithTtls, StreamValue
from pyrepl.rdb.vectors import Q8, VectorSetValue

MEMBERS = st.sampled_from([b"a", b"b", b"c", b"d", b"e"])


def check_order(value: SetValue) -> None:
    """The invariant of SetValue."""
    if value.order is None:
        assert value.gone == set()
        return
    assert sorted(value.order) == sorted(value.members | value.gone)
    assert not value.members & value.gone


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.sampled_from(["add", "discard", "update", "pick", "pop", "sample"]), MEMBERS)), st.integers()
)
def test_a_set_keeps_its_order_in_step(steps: list[tuple[str, bytes]], seed: int) -> None:
    below = Random(seed).randrange
    value = SetValue()
    model: set[bytes] = set()
    for verb, member in steps:
        if verb == "add":
            assert value.add(member) == (member not in model)
            model.add(member)
        elif verb == "update":
            assert value.update([member, b"z"]) == len({member, b"z"} - model)
            model |= {member, b"z"}
        elif verb == "discard":
            assert value.discard(member) == (member in model)
            model.discard(member)
        elif model and verb == "pick":
            assert value.pick(below) in model
        elif model and verb == "pop":
            popped = value.pop_random(below)
            assert popped in model
            model.remove(popped)
        elif model:
            sample = value.sample(3, below)
            assert len(sample) == len(set(sample)) == min(3, len(model))
            assert set(sample) <= model
        assert value.members == model
        check_order(value)


def test_who_draws_a_member_that_is_gone_draws_again() -> None:
    value = SetValue({b"%d" % number for number in range(10)})
    value.pick(Random(1).randrange)
    assert value.order is not None
    first = value.order[0]
    value.discard(first)
    assert value.gone == {first} and value.pick(lambda n: 0) != first
    assert value.gone == set() and len(value.order) == 9
    check_order(value)


def test_picks_of_a_set_of_which_most_is_gone_stay_uniform() -> None:
    below = Random(1).randrange
    value = SetValue({b"%d" % number for number in range(100)})
    for number in range(97):
        value.pick(below)
        value.discard(b"%d" % number)
        check_order(value)
    counts = Counter(value.pick(below) for _ in range(3000))
    assert set(counts) == {b"97", b"98", b"99"} and min(counts.values()) > 800


def test_pops_of_many_sets_are_uniform() -> None:
    """Whatever was drawn ahead, every order in which five members can go comes as often as any other."""
    random = Random(5)
    counts: Counter[tuple[bytes, ...]] = Counter()
    for _ in range(12_000):
        value = SetValue({b"a", b"b", b"c", b"d"})
        first = value.pop_random(random.randrange)
        value.add(b"e")
        check_order(value)
        counts[(first, *[value.pop_random(random.randrange) for _ in range(4)])] += 1
        assert not value.members
    assert len(counts) == 4 * 24
    assert max(counts.values()) < 3 * min(counts.values())


def test_a_member_that_is_drawn_and_discarded_is_not_popped() -> None:
    value = SetValue({b"%d" % number for number in range(100)})
    random = Random(6)
    popped = {value.pop_random(random.randrange) for _ in range(40)}
    rest = set(value.members)
    for member in list(rest)[::3]:
        value.discard(member)
        rest.discard(member)
        check_order(value)
    value.add(b"new")
    while value.members:
        member = value.pop_random(random.randrange)
        assert member == b"new" or member in rest
        popped.add(member)
        check_order(value)
    assert popped >= rest | {b"new"}


def test_a_pick_can_give_every_member() -> None:
    value = SetValue({b"a", b"b", b"c"})
    picks = {value.pick(lambda n, slot=slot: slot) for slot in range(3)}  # type: ignore[misc]
    assert picks == {b"a", b"b", b"c"}


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "discard", "expire", "persist", "due"]), MEMBERS, st.integers(1, 20)),
        max_size=60,
    )
)
def test_a_hash_forgets_times_with_their_fields(steps: list[tuple[str, bytes, int]]) -> None:
    value = HashValue()
    fields: dict[bytes, bytes] = {}
    times: dict[bytes, int] = {}
    for verb, field, number in steps:
        if verb == "put":
            assert value.put(field, b"%d" % number) == (field not in fields)
            fields[field] = b"%d" % number
            times.pop(field, None)
        elif verb == "discard":
            assert value.discard(field) == (fields.pop(field, None) is not None)
            times.pop(field, None)
        elif verb == "expire" and field in fields:
            value.expire_at(field, number)
            times[field] = number
        elif verb == "persist":
            assert value.persist(field) == (times.pop(field, None) is not None)
        elif verb == "due":
            due = sorted((at, name) for name, at in times.items() if at <= number)
            visible = value.without_due(number)
            assert visible.fields == {
                name: text for name, text in fields.items() if (times.get(name, 99), name) not in due
            }
            assert value.has_due(number) == bool(due)
            removed = value.remove_due(number, 2)
            assert removed == [name for _, name in due[:2]]
            for name in removed:
                del fields[name], times[name]
        assert value.fields == fields
        assert value.expires == (times or None)
        assert value.earliest_ms() == (min(times.values()) if times else None)


def test_a_field_whose_time_moves_often_does_not_fill_memory() -> None:
    value = HashValue({b"f": b"1", b"g": b"2"})
    for at_ms in range(10_000):
        value.expire_at(b"f", at_ms)
        assert value.earliest_ms() == at_ms
    value.expire_at(b"g", 5)
    for at_ms in range(20_000, 21_000):
        value.expire_at(b"f", at_ms)
    deadlines = value._deadlines
    assert deadlines is None or len(deadlines) < 200
    assert value.earliest_ms() == 5
    assert value.expiry(b"g") == 5
    assert value.expiry(b"nosuch") is None


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "put", "discard", "order", "pop", "cut"]),
            MEMBERS,
            st.sampled_from([-1.0, 0.0, 0.5]),
        )
    )
)
def test_a_sorted_set_keeps_its_order_in_step(steps: list[tuple[str, bytes, float]]) -> None:
    value = ZsetValue()
    model: dict[bytes, float] = {}
    for verb, member, score in steps:
        ranked = sorted((known, name) for name, known in model.items())
        if verb == "put":
            value.put(member, score)
            model[member] = score
        elif verb == "discard":
            assert value.discard(member) == (model.pop(member, None) is not None)
        elif verb == "order":
            assert list(value.order) == ranked
        elif verb == "pop" and model:
            index = 0 if score < 0 else -1
            assert value.pop(index) == ranked[index]
            del model[ranked[index][1]]
        elif verb == "cut":
            assert value.slice(1, 3) == ranked[1:3]
            value.remove_slice(1, min(3, len(model)))
            for _, name in ranked[1:3]:
                del model[name]
        assert value.scores == model
    assert list(value.order) == sorted((known, name) for name, known in model.items())


def test_negative_zero_is_zero_in_a_small_sorted_set_alone() -> None:
    small = ZsetValue()
    small.put(b"m", -0.0)
    assert str(small.scores[b"m"]) == "0.0"
    large = ZsetValue({b"%d" % i: 1.0 for i in range(200)})
    large.put(b"m", -0.0)
    large.drop_negative_zeros()
    assert str(large.scores[b"m"]) == "-0.0"
    few = ZsetValue({b"m": -0.0, b"n": -1.5})
    few.drop_negative_zeros()
    assert str(few.scores[b"m"]) == "0.0"
    assert few.scores[b"n"] == -1.5


EXAMPLES: list[tuple[Value, str, object]] = [
    (b"text", "string", b"text"),
    (ListValue(deque([b"a", b"b"])), "list", deque([b"a", b"b"])),
    (SetValue({b"a"}), "set", {b"a"}),
    (HashValue({b"f": b"v"}), "hash", {b"f": b"v"}),
    (HashValue({b"f": b"v"}, {b"f": 5}), "hash", HashWithTtls({b"f": b"v"}, {b"f": 5})),
    (ZsetValue({b"m": 1.5}), "zset", {b"m": 1.5}),
    (StreamValue(), "stream", StreamValue()),
    (VectorSetValue(3, Q8), "vectorset", VectorSetValue(3, Q8)),
]


@pytest.mark.parametrize(("value", "name", "plain"), EXAMPLES)
def test_plain_forms(value: Value, name: str, plain: object) -> None:
    assert type_name(value) == name
    assert plain_value(value) == plain
    back = from_plain(plain)
    assert type(back) is type(value)
    assert plain_value(back) == plain


def test_a_list_of_the_snapshot_reader_becomes_a_deque() -> None:
    value = from_plain([b"a", b"b"])
    assert isinstance(value, ListValue)
    assert value.items == deque([b"a", b"b"])


@pytest.mark.parametrize("plain", [None, 5, {}, "text"])
def test_what_the_snapshot_reader_never_gives_is_refused(plain: object) -> None:
    with pytest.raises(TypeError):
        from_plain(plain)


def test_what_is_packed_is_no_string() -> None:
    assert is_string(b"text")
    assert not is_string(PackedList(b"text"))
    assert not is_string(ListValue())
    assert not is_string(None)
