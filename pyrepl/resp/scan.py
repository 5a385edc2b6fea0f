# cython: language_level=3, boundscheck=False, wraparound=False, annotation_typing=False
"""The usual request, an array of bulk strings spelt as every client library spells it, read byte by byte.

Compiled by Cython with the types of scan.pxd, where an index is a pointer's; as it is written it does the same, but
slower than splitting at CRLF, so `parser` uses it in the compiled form alone. Whatever is unusual, broken or unfinished
is left to the parser.
"""

from __future__ import annotations

IS_COMPILED = __file__.rpartition(".")[2] != "py"

MOST_BULK_BYTES = 256 * 1024
"""Longer arguments are the parser's; so is the limit proto-max-bulk-len, if it is smaller."""

MOST_BEGINNING_BYTES = 16 * 1024
"""The beginning of a command that is worth reading again together with its end; what is longer is not."""

MOST_NAME_BYTES = 16
"""Names of commands are no longer, as a rule."""

_names: list[bytes] = [b""] * 256
"""First words that came lately, each at its slot: the same name is the same object, whose hash is known already."""


def scan(data: bytes, pos: int, base: int, max_args: int, commands: list[list[bytes]], ends: list[int]) -> int:
    """Read whole commands from `pos` on; the position behind the last one.

    Each adds its arguments to `commands`, and `base` plus the position behind it to `ends`. Stops before the first that
    is not `*<count>` and `$<size>` lines with CRLF and without leading zeros, counts from 1 to `max_args` and sizes up
    to MOST_BULK_BYTES, complete in `data`.
    """
    text = data
    end = len(data)
    done = pos
    most = MOST_BULK_BYTES
    most_name = MOST_NAME_BYTES
    while True:
        i = done
        if i + 4 > end or text[i] != 42:
            return done
        i += 1
        digit = text[i] - 48
        if digit < 1 or digit > 9:
            return done
        count = digit
        i += 1
        while i < end and 48 <= text[i] <= 57 and count < 100_000_000:
            count = 10 * count + text[i] - 48
            i += 1
        if i + 2 > end or text[i] != 13 or text[i + 1] != 10 or count > max_args:
            return done
        i += 2
        argv: list[bytes] = []
        is_first = True
        while count > 0:
            if i + 4 > end or text[i] != 36:
                return done
            i += 1
            digit = text[i] - 48
            if digit < 0 or digit > 9:
                return done
            size = digit
            i += 1
            while i < end and 48 <= text[i] <= 57 and 0 < size <= most:
                size = 10 * size + text[i] - 48
                i += 1
            if size > most or i + 4 + size > end or text[i] != 13 or text[i + 1] != 10:
                return done
            i += 2
            if text[i + size] != 13 or text[i + size + 1] != 10:
                return done
            if is_first and 0 < size <= most_name:
                slot = (31 * size + 7 * text[i] + text[i + size // 2] + 3 * text[i + size - 1]) & 255
                name = _names[slot]
                if len(name) != size or not _is_at(text, i, name, size):
                    name = text[i : i + size]
                    _names[slot] = name
                argv.append(name)
            else:
                argv.append(text[i : i + size])
            is_first = False
            i += size + 2
            count -= 1
        commands.append(argv)
        ends.append(base + i)
        done = i


def whole_bytes(data: bytes) -> int:
    """Where to cut what was read, which begins where a command does: behind its last whole command.

    All of it (`len(data)`) where it ends with a command, where something is not as `scan` takes it, and where more
    than MOST_BEGINNING_BYTES would be cut off. So what is cut off completes nothing, whatever precedes it.
    """
    text = data
    end = len(data)
    done = 0
    most = MOST_BULK_BYTES
    most_beginning = MOST_BEGINNING_BYTES
    while done < end:
        i = done
        left = -1
        while left:
            if i == end:
                break
            if text[i] != (42 if left < 0 else 36):
                return end
            i += 1
            first = i
            number = 0
            while i < end and 48 <= text[i] <= 57 and number <= most:
                number = 10 * number + text[i] - 48
                i += 1
            if i + 2 > end:
                break
            if i == first or text[i] != 13 or text[i + 1] != 10 or number > most:
                return end
            if text[first] == 48 and i > first + 1:
                # A leading zero is an error, which the parser tells at once only if it is given the line.
                return end
            i += 2
            if left < 0:
                if number == 0:
                    return end
                left = number
                continue
            i += number + 2
            if i > end:
                break
            if text[i - 2] != 13 or text[i - 1] != 10:
                return end
            left -= 1
        else:
            done = i
            continue
        return done if end - done <= most_beginning else end
    return done


def _is_at(text: bytes, pos: int, name: bytes, size: int) -> bool:
    """Do `size` bytes of `text` from `pos` on spell `name`?"""
    other = name
    i = 0
    while i < size:
        if text[pos + i] != other[i]:
            return False
        i += 1
    return True
