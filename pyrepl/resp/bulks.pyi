from typing import Any, Final

LARGE_BYTES: Final = 8192

def encode_bulks(items: list[Any]) -> bytes | None: ...
