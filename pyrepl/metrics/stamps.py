"""Times that logs write as words, whole arrays of them at once, as Unix microseconds. What is no time is null."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyrepl.metrics.ranges import UTC

ISO: Final = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})"
"""RE2: an ISO 8601 time with its zone, to the nanosecond at most."""
_PARTS: Final = (
    r"^(?P<day>\d{4}-\d{2}-\d{2})[T ](?P<time>\d{2}:\d{2}:\d{2})(?:\.(?P<fraction>\d{1,9}))?"
    r"(?:Z|(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2}))$"
)


def local_us(words: Any, form: str, zone: str) -> Any:
    """Times in the form of strptime, of a zone as Europe/Berlin; of an hour that a clock shows twice the first."""
    local = pc.strptime(words, format=form, unit="us", error_is_null=True)
    if zone != UTC:
        local = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")
    return local.cast(pa.int64())


def iso_us(words: Any) -> Any:
    """Times in the form of ISO."""
    found = pc.extract_regex(words, _PARTS)
    part = {field.name: cells for field, cells in zip(found.type, found.flatten())}
    seconds = local_us(pc.binary_join_element_wise(part["day"], part["time"], "T"), "%Y-%m-%dT%H:%M:%S", UTC)
    fraction = pc.utf8_slice_codeunits(pc.utf8_rpad(part["fraction"], 6, "0"), 0, 6).cast(pa.int64())
    hours, minutes = (_or_zero(part[name]) for name in ("hours", "minutes"))
    east = pc.multiply(pc.add(pc.multiply(hours, 60), minutes), 60_000_000)
    east = pc.if_else(pc.equal(part["sign"], "-"), pc.negate(east), east)
    return pc.subtract(pc.add(seconds, fraction), east)


def _or_zero(digits: Any) -> Any:
    return pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64())
