from typing import Any, Final, TypeVar

_Key = TypeVar("_Key")

COMPILED: Final[bool]

def frozen(values: dict[bytes, Any], expires: dict[bytes, int]) -> object: ...
def some_keys(source: dict[_Key, Any], place: int, last: object, count: int) -> tuple[list[_Key], int]: ...
