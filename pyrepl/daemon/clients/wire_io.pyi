from collections.abc import Callable
from typing import Final

MOST_BYTES: Final = 262144

def receive(fd: int, size: int) -> bytes | None: ...
def receive_whole(
    fd: int, rest: bytes, size: int, whole_bytes: Callable[[bytes], int]
) -> tuple[bytes, bytes] | None: ...
def send(fd: int, data: bytes) -> int: ...
