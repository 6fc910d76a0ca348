"""The names of a step: of its columns and lambdas, and of the columns that stand ahead of an expression."""

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ghcm.codegen.spark.library.sql import quoted, when
from ghcm.expr import Expr, fresh


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a step has: those of columns and lambdas, and of the unit's parameters that it mentions."""

    taken: set[str] = field(default_factory=set[str])
    parameters: set[str] = field(default_factory=set[str])


_names: ContextVar[Names] = ContextVar("_names")


@contextmanager
def fresh_names(columns: Iterable[str] = ()) -> Generator[Names]:
    """Where names of lambdas are given anew; none is among the columns around them."""
    names = Names(set(columns))
    before = _names.set(names)
    try:
        yield names
    finally:
        _names.reset(before)


def known_names() -> Names:
    """Those of the step that is being written."""
    names = _names.get(None)
    if names is None:
        names = Names()
        _names.set(names)
    return names


def variable(word: str = "each") -> str:
    """A name for the parameter of a SQL lambda that nothing else has: the word, with a number behind it if need be."""
    taken = known_names().taken
    plain = re.sub(r"\W", "_", word, flags=re.ASCII).lstrip("_0123456789") or "each"
    name = fresh(plain if quoted(plain) == plain else f"{plain}_", taken)
    taken.add(name)
    return name


@dataclass
class Ahead:
    """The columns that are computed ahead of an expression, in order: their names and what they are. None of them can
    raise anything, so that they may be computed for records whose expression does not ask for them; `where` says for
    which it does. `known` are the columns of the rows, `later` those that a column ahead may be named after already.
    """

    known: set[str]
    later: set[str]
    columns: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    where: str | None = None
    wish: tuple[str, Expr] | None = None

    def name(self, word: str) -> str:
        """A name that none of the columns has."""
        name = word if word in self.later and word not in self.known else variable(word)
        self.known.add(name)
        known_names().taken.add(name)
        return quoted(name)

    def add(self, word: str, value: str, expr: Expr | None = None) -> str:
        """The name of a column of this value; `expr` is what it was made of."""
        name = self.name(self.wish[0] if self.wish is not None and expr is self.wish[1] else word)
        self.columns.append((name, value if self.where is None else when(self.where, value)))
        return name

    @contextmanager
    def whole(self, name: str, expr: Expr) -> Generator[None]:
        """Where a name is wanted for the value of an expression."""
        self.wish = name, expr
        try:
            yield
        finally:
            self.wish = None

    @contextmanager
    def only(self, condition: str) -> Generator[None]:
        """Where columns are needed only for records for which the condition is true."""
        before = self.where
        self.where = condition if before is None else f"({before}) AND ({condition})"
        try:
            yield
        finally:
            self.where = before


_ahead: ContextVar[Ahead | None] = ContextVar("_ahead", default=None)


def ahead() -> Ahead | None:
    """The columns ahead of the expression that is being written; None where it cannot have any."""
    return _ahead.get()


@contextmanager
def with_columns_ahead(columns: Ahead | None) -> Generator[None]:
    """Where expressions have such columns ahead of them; None within a lambda."""
    token = _ahead.set(columns)
    try:
        yield
    finally:
        _ahead.reset(token)
