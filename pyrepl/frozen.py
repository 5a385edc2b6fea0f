"""The base of records that never change: what machines tell their shells, commands ask of the daemon, and logs say.

Their fields are declared as a dataclass declares them. A dataclass is generated as source and compiled, one by one, 0.4
ms each: two hundred of them took a third of the time to start. These share the methods below, at 1 us more a record.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True)
class Frozen:
    """Compared, hashed and shown by its fields, which are those of its bases and then its own; all but ClassVars.

    A default is a plain value that does not change. The annotations must be texts (`from __future__ import
    annotations`).
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()
    NAMES: ClassVar[frozenset[str]] = frozenset()
    DEFAULTS: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        own = [name for name, note in inspect.get_annotations(cls).items() if not note.startswith("ClassVar")]
        cls.FIELDS = (*cls.FIELDS, *own)
        cls.NAMES = frozenset(cls.FIELDS)
        cls.DEFAULTS = cls.DEFAULTS | {name: cls.__dict__[name] for name in own if name in cls.__dict__}

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self.FIELDS, values), **named) if values else named
        held = self.__dict__
        held.update(self.DEFAULTS)
        held.update(given)
        if len(given) != len(values) + len(named) or held.keys() != self.NAMES:
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.FIELDS) or 'nothing'}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is a record, it does not change")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is a record, it does not change")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self.FIELDS)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self.FIELDS)})"
