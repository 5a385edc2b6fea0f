"""One directive: a row of directives.py, and at the same time the typed attribute of Settings that holds its value."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, final, overload

from pyrepl.config.kinds import Kind

T = TypeVar("T")


@final
class Directive(Generic[T]):
    """What redis.conf may say about one thing. `Settings().port` has the type of the row's kind.

    The attribute's name with dashes is the directive's name.

    aliases: other spellings that mean the same, shown by CONFIG GET too.
    mutable: CONFIG SET may change it while the node runs.
    protected: CONFIG SET may change it only as `enable-protected-configs` says.
    secret: the value must not reach a log or an error text.
    hidden: CONFIG GET shows it by its exact name only; not in the sample (for testers).
    unshown: CONFIG GET never shows it: it protects something only as long as it is not known.
    inert: not empty if it is accepted and kept but has no effect; says why, and what that means for the operator, who
    is told when the directive is set to anything but its default.
    """

    def __init__(
        self,
        kind: Kind[T],
        default: T,
        help: str,
        *,
        aliases: tuple[str, ...] = (),
        mutable: bool = True,
        protected: bool = False,
        secret: bool = False,
        hidden: bool = False,
        unshown: bool = False,
        inert: str = "",
    ) -> None:
        self.kind: Final = kind
        self.default: Final = default
        self.help: Final = help
        self.aliases: Final = aliases
        self.mutable: Final = mutable
        self.protected: Final = protected
        self.secret: Final = secret
        self.hidden: Final = hidden
        self.unshown: Final = unshown
        self.inert: Final = inert
        self.attribute = ""
        self.name = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute
        self.name = attribute.replace("_", "-")

    @overload
    def __get__(self, instance: None, owner: type) -> Directive[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        # Without __set__ the instance's own attribute comes first, so reading a setting costs no call.
        return self if instance is None else self.default

    def __repr__(self) -> str:
        return f"Directive({self.name})"
