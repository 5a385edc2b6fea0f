from typing import Any, Final, TypeVar

Key = TypeVar("Key")

COMPILED: Final[bool]

def some_keys(source: dict[Key, Any], place: int, last: object, count: int) -> tuple[list[Key], int]: ...
