"""The scan's own parts: words found by their hash, and where it ends. What it makes of lines is test_quicklines.py."""

from __future__ import annotations

import numpy as np
import pytest

from pyrepl.metrics.scan import COUNT, MOST_WORDS, TEXT, Rows, Scanner, Words, gather

FIELDS = [b"at_us", b"event", b"size"]
A_LINE = b'{"at_us":7,"event":"seen","size":-3}\n'


def rows(room: int) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Rows of a table that has all fields, and their cells."""
    numbers = np.zeros((3, room), np.int64)
    valid = np.zeros((3, room), np.uint8)
    return Rows(np.arange(3, dtype=np.int32), numbers, numbers.view(np.float64), valid), numbers, valid


def scanner() -> Scanner:
    return Scanner(FIELDS, [COUNT, TEXT, COUNT], 2, [b"sampled", b"seen"], 1)


def test_a_line_becomes_a_row() -> None:
    events, numbers, valid = rows(2)
    samples, _, _ = rows(2)
    assert scanner().scan(A_LINE, 0, 10, events, samples) == len(A_LINE)
    assert (events.count, samples.count) == (1, 0)
    assert (numbers[0, 0], numbers[1, 0], numbers[2, 0]) == (7, 20 << 32 | 4, -3)
    assert valid[:, 0].tolist() == [1, 1, 1]


@pytest.mark.parametrize(("latest_us", "taken"), [(7, 1), (6, 0)])
def test_the_latest_time(latest_us: int, taken: int) -> None:
    events, _, _ = rows(2)
    assert scanner().scan(A_LINE, 0, latest_us, events, rows(2)[0]) == taken * len(A_LINE)


def test_a_line_that_is_left_is_no_row_and_hides_none() -> None:
    events, _, _ = rows(3)
    broken = A_LINE.replace(b"}", b"")
    scan = scanner()
    assert scan.scan(A_LINE + broken + A_LINE, 0, 10, events, rows(3)[0]) == len(A_LINE)
    assert scan.scan(A_LINE + broken + A_LINE, len(A_LINE + broken), 10, events, rows(3)[0]) == len(A_LINE) * 3 - 1
    assert events.count == 2


def test_no_room_is_no_row() -> None:
    events, _, _ = rows(1)
    assert scanner().scan(A_LINE * 2, 0, 10, events, rows(1)[0]) == len(A_LINE)


def test_unknown_events_are_passed_over() -> None:
    line = A_LINE.replace(b"seen", b"heard")
    events, samples = rows(1)[0], rows(1)[0]
    assert scanner().scan(line * 3, 0, 10, events, samples) == 3 * len(line)
    assert events.count == samples.count == 0


def test_more_words_than_there_may_be() -> None:
    with pytest.raises(AssertionError):
        Words([b"%d" % number for number in range(MOST_WORDS + 1)])


def test_texts_are_gathered() -> None:
    places = np.array([1 << 32 | 2, 0, 4 << 32 | 1], np.int64)
    out = np.zeros(3, np.uint8)
    assert gather(b"abcdef", places, np.array([2, 2, 3], np.int32), 3, out) == 3
    assert out.tobytes() == b"bce"
