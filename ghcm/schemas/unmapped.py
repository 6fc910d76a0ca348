"""What is raised where a type of one world has no counterpart in another."""

from __future__ import annotations


class Unmapped(ValueError):
    """A type that does not map. Its text says what it is; `path` are the fields that lead to it, outermost first."""

    def __init__(self, reason: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return f'field "{".".join(self.path)}": {self.reason}' if self.path else self.reason


def inside(name: str, error: Unmapped) -> Unmapped:
    """The same as it is seen from outside of a field.

    >>> str(inside("a", inside("b", Unmapped("a union is no type of the language"))))
    'field "a.b": a union is no type of the language'
    """
    return Unmapped(error.reason, (name, *error.path))
