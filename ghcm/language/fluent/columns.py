"""What a user takes for the columns of a collection, which has none: its records have."""

from collections.abc import Callable
from typing import NoReturn

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent.positions import here, mistake
from ghcm.source import Span


def no_column(name: object, span: Span | None = None) -> ProgramError:
    """The mistake of asking a collection for a column, at `span` or else at the user's line."""
    column = f".{name}" if isinstance(name, str) and name.isidentifier() else ""
    detail = "A collection has no columns; its records have."
    hint = f"write lambda x: x{column} ... inside .filter(...), .map(...) or another operator"
    return mistake("GHCM-130", f'"{name}" is no column of a collection', span or here(), detail=detail, hint=hint)


class Unknown:
    """A name behind a collection that is no operator. Called, it is refused as one; with an operator, as a column."""

    __slots__ = ("_name", "_then")

    def __init__(self, name: str, then: Callable[..., object]) -> None:
        self._name = name
        self._then = then

    def __call__(self, *values: object, **options: object) -> object:
        """The call as it is written, for the checks that both front ends pass."""
        return self._then(self._name, *values, **options)

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """Refused: an argument is no column."""
        raise no_column(self._name, span)

    __hash__ = object.__hash__

    def _refuse(self, _other: object = None) -> NoReturn:
        raise no_column(self._name)

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __eq__ = __ne__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __neg__ = _refuse
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = _refuse
    __and__ = __or__ = __invert__ = __getitem__ = _refuse
