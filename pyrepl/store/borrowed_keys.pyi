from typing import Any, Final, TypeVar

_Key = TypeVar("_Key")

COMPILED: Final[bool]

def some_keys(source: dict[_Key, Any], place: int, last: object, count: int) -> tuple[list[_Key], int]: ...
