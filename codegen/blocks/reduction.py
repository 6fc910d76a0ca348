"""Makes a block smaller without changing what it means: what is computed twice gets a name, what is used once loses it,
what nothing uses goes.

A call that may fail is a guard. The same call of the same values behind it cannot fail any more, so that only the first
of them stays one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ghcm.codegen.blocks.block import Bind, Block, Columns, Explode, Keep, Line, Operator, Outside, Stamp, expression
from ghcm.expr import (
    Call,
    Expr,
    ForEach,
    Get,
    If,
    Let,
    Try,
    Var,
    bound_names,
    children,
    free_names,
    fresh,
    mentions,
    rebuild,
    substitute,
    walk,
)
from ghcm.failing import can_fail

DEEPEST = 24
"""How deep expressions may become by what is put into them: parsers of engines go down one call per level."""

_CHEAP = frozenset(
    {"is_null", "is_not_null", "known", "widen", "not", "and", "or", "coalesce", "to_micros", "from_micros"}
)
"""Functions that cost less than a name."""


def reduced(block: Block) -> Block:
    """The block with shared subexpressions as lines, and without lines that are used once or not at all."""
    while (shared := _shared(block)) is not block:  # with names for its parts, a whole may be shared too
        block = shared
    return _inlined(_without_unused(block))


# --- shared subexpressions -------------------------------------------------------------------------------------------


def _shared(block: Block) -> Block:
    """What stands in the lines twice, computed before the first."""
    exprs = [expr for line in block.lines if (expr := expression(line)) is not None]
    inner = bound_names(*exprs, *block.gives.values())
    counted = Counter(repr(part) for expr in (*exprs, *block.gives.values()) for part in _calls(expr, inner))
    if not any(count > 1 for count in counted.values()):
        return block
    taken = {name for line in block.lines for name in _names_of(line)} | inner
    taken |= {name for each in block.operators for value in each.input.values() for name in free_names(value)}
    sharing = _Sharing({key for key, count in counted.items() if count > 1}, inner, taken)
    for line in block.lines:
        sharing.add(line)
    if len(sharing.lines) == len(block.lines):
        return block
    gives = {name: sharing.known_in(value) for name, value in block.gives.items()}
    return Block(block.operators, tuple(sharing.lines), gives)


def _calls(expr: Expr, inner: frozenset[str]) -> Iterator[Call]:
    """The calls in an expression that are worth a name and mention nothing that is bound around them."""
    for part in walk(expr):
        if isinstance(part, Call) and part.function not in _CHEAP and not free_names(part) & inner:
            yield part


@dataclass
class _Sharing:
    """Lines in which calls that stand in several places (`twice`) have names; `named` are those that have one."""

    twice: set[str]
    inner: frozenset[str]
    taken: set[str]
    lines: list[Line] = field(default_factory=list[Line])
    named: dict[str, Var] = field(default_factory=dict[str, Var])

    def add(self, line: Line) -> None:
        """The line behind those that compute what it shares with others."""
        expr = expression(line)
        if expr is None:
            self.lines.append(line)
            return
        expr = self.known_in(expr)
        while (call := self._next(expr, isinstance(line, Bind))) is not None:
            self._name(call, line.at)
            expr = self.known_in(expr)
        if isinstance(line, Bind) and isinstance(expr, Call):
            self.named.setdefault(repr(expr), Var(line.name, expr.type))
        self.lines.append(_with(line, expr))

    def known_in(self, expr: Expr) -> Expr:
        """The expression with the names of what is computed already."""
        if not self.named:
            return expr
        return rebuild(expr, lambda part: self.named.get(repr(part), part) if isinstance(part, Call) else part)

    def _next(self, expr: Expr, bound: bool) -> Call | None:
        """The first call, of those that are evaluated in any case, that others share and that fails before nothing
        else does. What is bound as a whole has its name.
        """
        for part in _always(expr):
            if part is expr and bound:
                return None
            if isinstance(part, Call) and self._is_shared(part):
                return part
            if can_fail(part):
                return None
        return None

    def _is_shared(self, call: Call) -> bool:
        known = call.function in _CHEAP or free_names(call) & self.inner
        return not known and repr(call) in self.twice

    def _name(self, call: Call, at: int) -> None:
        name = fresh(call.function, self.taken)
        self.taken.add(name)
        self.lines.append(Bind(name, call, at))
        self.named[repr(call)] = Var(name, call.type)


def _always(expr: Expr) -> Iterator[Expr]:
    """The parts that are evaluated for every record, in the order in which they are: parts before wholes."""
    match expr:
        case If(condition=condition):
            yield from _always(condition)
        case Call(function="and" | "or" | "coalesce", arguments=arguments):
            yield from _always(arguments[0])
        case ForEach(list=of):
            yield from _always(of)
        case Let(value=value):
            yield from _always(value)
        case Try():
            pass
        case _:  # all of its parts
            for part in children(expr):
                yield from _always(part)
    yield expr


def _with(line: Line, expr: Expr) -> Line:
    match line:
        case Bind():
            return replace(line, value=expr)
        case Keep():
            return replace(line, condition=expr)
        case Explode():
            return replace(line, items=expr)
        case Stamp():
            return replace(line, time=expr)
        case Outside():
            return line


def _names_of(line: Line) -> tuple[str, ...]:
    """The names that a line binds."""
    match line:
        case Bind(name=name) | Explode(name=name):
            return (name,)
        case Outside(names=names):
            return names
        case Keep() | Stamp():
            return ()


# --- unused and single uses ------------------------------------------------------------------------------------------


def _read(block: Block, line: Line) -> Iterable[Expr]:
    """What a line reads."""
    expr = expression(line)
    return block.operators[line.at].input.values() if expr is None else (expr,)


def _without_unused(block: Block) -> Block:
    """Only lines that something needs, or in which a record may fail."""
    needed = {name for value in block.gives.values() for name in free_names(value)}
    kept: list[Line] = []
    gone: dict[str, Expr] = {}
    for line in reversed(block.lines):
        if isinstance(line, Bind) and line.name not in needed and not can_fail(line.value):
            gone[line.name] = line.value
            continue
        kept.append(line)
        needed |= {name for expr in _read(block, line) for name in free_names(expr)}
    if not gone:
        return block
    order = {name: gone[name] for name in reversed(gone)}
    return _with_inputs(replace(block, lines=tuple(reversed(kept))), order)


def _with_inputs(block: Block, gone: Columns) -> Block:
    """The block whose operators say what their inputs were without names that are gone, each of which mentions only
    such as come before it.
    """
    known: dict[str, Expr] = {}
    for name, value in gone.items():
        known[name] = substitute(value, known)
    inputs = (
        Operator(each.step, {name: substitute(value, known) for name, value in each.input.items()})
        for each in block.operators
    )
    return replace(block, operators=tuple(inputs))


def _inlined(block: Block) -> Block:
    """The block whose names are used more than once, or in what cannot be moved: where it may fail, and where it would
    be computed once for each item instead of once.
    """
    uses, crossed = _uses(block)
    known: dict[str, Expr] = {}
    depths: dict[str, int] = {}
    lines: list[Line] = []
    for line in block.lines:
        expr = expression(line)
        if expr is None:
            lines.append(line)
            continue
        expr = substitute(expr, known)
        if isinstance(line, Bind) and uses[line.name] == 1 and line.name not in crossed and not can_fail(expr):
            depths[line.name] = _depth(expr)
            if depths[line.name] <= DEEPEST:
                known[line.name] = expr
                continue
        lines.append(_with(line, expr))
    if not known:
        return block
    gives = {name: substitute(value, known) for name, value in block.gives.items()}
    return _with_inputs(replace(block, lines=tuple(lines), gives=gives), known)


def _uses(block: Block) -> tuple[Counter[str], set[str]]:
    """How often each name is read, and the names that are read behind a line that makes several records of one."""
    uses: Counter[str] = Counter()
    since: set[str] = set()
    crossed: set[str] = set()
    for line in block.lines:
        for expr in _read(block, line):
            found = Counter({name: len(list(mentions(expr, name))) for name in free_names(expr)})
            uses += found
            crossed |= found.keys() - since
        if isinstance(line, Explode | Outside):
            since = set()
        since |= set(_names_of(line))
    for value in block.gives.values():
        found = Counter({name: len(list(mentions(value, name))) for name in free_names(value)})
        uses += found
        crossed |= found.keys() - since
    return uses, crossed


def _depth(expr: Expr) -> int:
    return 0 if isinstance(expr, Var | Get) else 1 + max(map(_depth, children(expr)), default=0)
