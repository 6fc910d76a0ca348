"""What a meaning is: a function of canonical values, told their types; `Failed` where the record fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from ghcm.functions import Failure
from ghcm.types import INT_MAX, INT_MIN, Type, strip

__all__ = ["Failed", "Meaning", "Types", "checked", "fail"]


class Failed(Exception):
    """The record at hand fails."""

    def __init__(self, reason: Failure, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Types:
    """The types of a call: of its arguments and of its result, as they stand there."""

    arguments: tuple[Type, ...]
    result: Type

    @property
    def first(self) -> Type:
        """The type of the first argument without its `?`."""
        return strip(self.arguments[0])


Meaning: TypeAlias = (
    Callable[[Types, Any], Any]
    | Callable[[Types, Any, Any], Any]
    | Callable[[Types, Any, Any, Any], Any]
    | Callable[[Types, Any, Any, Any, Any], Any]
    | Callable[..., Any]
)
"""`(types, *arguments) -> value`; no argument is null unless the function handles nulls itself."""


def fail(reason: Failure, detail: str) -> NoReturn:
    """The record fails."""
    raise Failed(reason, detail)


def checked(number: int) -> int:
    """The number, which must have 64 bits."""
    return number if INT_MIN <= number <= INT_MAX else fail(Failure.OVERFLOW, f"{number} has more than 64 bits")
