"""A unit while it is being lowered: tasks without ids, collections, raw records that nobody has decoded, and one step,
which is what the rules of the operators work with.

A named aggregation of input that ends is a table while it runs, and pairs at the end: one task is both. `final` is the
way from the table to the stream of its final pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

from ghcm.codes import Code
from ghcm.errors import Reported
from ghcm.expr import Expr, Lambda, Literal
from ghcm.language import ast
from ghcm.lowering.arguments import Given
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.expressions.functions import check_apart, lambda_of, mentions_names, of_columns, whole
from ghcm.lowering.expressions.records import fits
from ghcm.operators import Operator
from ghcm.source import Span
from ghcm.spg.connectors import Connector, Mode
from ghcm.spg.graph import Exchange, Forward, Hash
from ghcm.spg.ops import Changes, GroupOp, Op, ReadSink, ReadTable, Revisions, Versions
from ghcm.support import Engine
from ghcm.types import Collection, Shape, Type, pair_of


@dataclass(eq=False, slots=True)
class Draft:
    """A task before the end of its statement gives it an id. `word` is the operator's name; `named` what the user calls
    it.

    `keeps_state`: it must be found again after a recompilation, so that it needs a name from the program.
    `after`: the `To` whose commit a `Publish` waits for.
    """

    word: str
    op: Op
    inputs: tuple[tuple[Draft, Exchange], ...]
    collection: Collection
    span: Span | None
    calls: int = 1
    keeps_state: bool = False
    after: Draft | None = None
    named: str | None = None
    id: str = ""
    is_named: bool = False
    step: RoundDrafts | None = None


@dataclass(frozen=True, slots=True)
class RoundDrafts:
    """The step of an iteration: what stands for the records of a round, the tasks that look at them, in order, and the
    last one's. What does not depend on the round stands outside, as further inputs.
    """

    entry: Draft
    drafts: tuple[Draft, ...]
    result: Draft


@dataclass(frozen=True, slots=True)
class Flow:
    """A collection and the task that gives it.

    `regrouped`: its records no longer stand in the order of a source's partition. `open_window`: windows are assigned
    and nothing has been aggregated in them. `written`: the `To` that has just written it. `ended`: nothing may follow.
    """

    draft: Draft
    collection: Collection
    regrouped: bool = False
    open_window: bool = False
    written: Draft | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class RawSource:
    """A source before its records have a type: a connector, or the rows of `memory` as they are written; `given`: its
    arguments, where there may be more to say of them. `envelope`: where in a JSON value the envelope of Debezium
    stands that the record is in, empty where that is the value; None where there is none.
    """

    word: str
    connector: Connector | None
    rows: tuple[ast.Expr, ...]
    bounded: bool
    span: Span | None
    given: Given | None = None
    envelope: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Sources whose records have no type yet; with `unions` they are to be one collection."""

    sources: tuple[RawSource, ...]
    unions: tuple[Span | None, ...] = field(default=())


Bound: TypeAlias = Flow | Raw
"""What a name in a unit stands for."""


@dataclass(frozen=True, slots=True)
class SinkDraft:
    """A declared sink before its writers are known. `element`: the type of the declared record, if there is one.
    The `key` of a form of Redis is its place; `score`: where that of a sorted set stands. `partition`: the columns that
    divide the files of a table; `headers`: the column that gives those of messages.
    """

    name: str
    connector: Connector
    mode: Mode
    key: ast.Expr | None
    element: Type | None
    span: Span | None
    score: Span | None = None
    partition: ast.Expr | None = None
    headers: ast.Expr | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """What a call must fit: the unit's parameters with their types (None: reported) and which of them have defaults."""

    responsive: bool
    parameters: Mapping[str, Type | None]
    optional: frozenset[str]


class Surroundings(Protocol):
    """The rest of the program as a unit sees it. Every look-up reports what is wrong."""

    @property
    def sinks(self) -> Mapping[str, SinkDraft | None]:
        """The declared sinks."""
        ...

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """The declared units."""
        ...

    def element_of(self, sink: str, span: Span | None) -> Type:
        """The type of a sink's records."""
        ...

    def table_of(self, unit: str, name: str, span: Span | None) -> Flow:
        """The table of that name of a stream unit."""
        ...

    def written(self, sink: str, element: Type | None, span: Span | None) -> None:
        """Note that a sink is written with such records; None where their type is unknown after a report."""
        ...

    def calls(self, caller: str, called: str, span: Span | None) -> None:
        """Note that a unit calls another."""
        ...


@dataclass(eq=False, slots=True)
class UnitDraft:
    """A unit under construction. `drafts` are the tasks of the statement at hand, `named_nodes` its calls that get a
    name, `ended` what gives the final pairs of each table that is asked for them, `followed` what gives the pairs of
    those that never end as they change, `versions` what they held at each time. What is `assigned` is None after a
    report.
    """

    context: Context
    around: Surroundings
    declaration: ast.UnitDecl
    scope: Scope
    assigned: dict[str, Bound | None] = field(default_factory=dict[str, "Bound | None"])
    drafts: list[Draft] = field(default_factory=list[Draft])
    named_nodes: set[int] = field(default_factory=set[int])
    ended: dict[Draft, Draft] = field(default_factory=dict[Draft, Draft])
    followed: dict[Draft, Draft] = field(default_factory=dict[Draft, Draft])
    versions: dict[Draft, Draft] = field(default_factory=dict[Draft, Draft])
    ends: int = 0
    replies: int = 0
    inside: tuple[str, ...] = ()
    """The functions of collections that are being written out."""

    @property
    def name(self) -> str:
        """The unit's name."""
        return self.declaration.name.text

    @property
    def engine(self) -> Engine:
        """Who runs it."""
        return Engine.SPARK if self.declaration.kind == "batch" else Engine.ROW

    @property
    def lives_on(self) -> bool:
        """Whether it runs for ever, so that its state must survive."""
        return self.declaration.kind == "stream" and not self.declaration.responsive


@dataclass(frozen=True, slots=True)
class Step:
    """One operator call: its entry in the table, its source position (the operator's name) and its arguments."""

    unit: UnitDraft
    operator: Operator
    written: ast.Apply
    span: Span | None
    given: Given
    evaluate: Callable[[ast.Expr], Bound]

    @property
    def context(self) -> Context:
        """Where to report."""
        return self.unit.context

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.operator.name

    @property
    def scope(self) -> Scope:
        """What names stand for in the functions of the unit."""
        return self.unit.scope

    def report(
        self, code: Code, message: str, span: Span | None = None, *, detail: str = "", hint: str = ""
    ) -> Reported:
        """As `Context.report`, by default at the operator's name."""
        return self.context.report(code, message, span or self.span, detail=detail, hint=hint)

    def function(self, argument: str, *types: Type, test: bool = False, written: ast.Expr | None = None) -> Lambda:
        """The function that the argument of that name is, or what is `written` in its place, over parameters of these
        types; of one record it may be written over the names of its fields.
        """
        what, written = f'"{argument}" of "{self.name}"', written or self.given.required(argument)
        if len(types) == 1 and mentions_names(written):
            check_apart(written, types, self.scope)
            return of_columns(written, types[0], self.scope, what, test=test)
        return lambda_of(written, types, self.scope, what, test=test)

    def of_unit(self, argument: str, type_: Type, what: str, *, least: int | None = None) -> Expr:
        """The argument as a value of that type: a constant or a parameter of the unit, not of a record."""
        written = self.given.required(argument)
        made = whole(written, self.scope, what)
        if least is not None and isinstance(made, Literal) and isinstance(made.value, int) and made.value < least:
            raise self.report(Code.OUT_OF_RANGE, f"{what} is less than {least}", written.span)
        return fits(made, type_, what, written.span, self.context)

    def add(
        self, op: Op, collection: Collection, *inputs: tuple[Flow, Exchange], calls: int = 1, keeps_state: bool = False
    ) -> Draft:
        """A task of the statement at hand."""
        edges = tuple((flow.draft, exchange) for flow, exchange in inputs)
        draft = Draft(self.name, op, edges, collection, self.span, calls, keeps_state)
        self.unit.drafts.append(draft)
        return draft

    def row(self, op: Op, flow: Flow, collection: Collection) -> Draft:
        """A task that takes each record where it is."""
        return self.add(op, collection, (flow, Forward()))


IN_A_BATCH = "A batch unit has all of its records at once, so that none of them comes first."


def unordered(step: Step, flow: Flow) -> str:
    """Why the records of a collection do not come in an order, as a sentence; empty where they do."""
    if step.unit.declaration.kind == "batch":
        return IN_A_BATCH
    waiting = [flow.draft]
    while waiting:
        draft = waiting.pop()
        if isinstance(draft.op, ReadSink | ReadTable):
            return "What is read from a sink or a table has no order."
        waiting += [producer for producer, _ in draft.inputs]
    return ""


SOURCES: dict[str, Callable[[Step], Bound]] = {}
"""The rules of what stands at the beginning."""
READS: dict[str, Callable[[Step, ast.Expr], Bound]] = {}
"""Of what begins with a name that is no collection."""
UNIONS: dict[str, Callable[[Step, Flow | Raw], Bound]] = {}
"""Of what takes raw collections, too."""
RULES: dict[str, Callable[[Step, Flow], Bound]] = {}
"""Of what takes a collection."""

_R = TypeVar("_R")


def rule(table: dict[str, _R], operator: str) -> Callable[[_R], _R]:
    """A decorator: the function is the rule of the operator."""

    def put(function: _R) -> _R:
        table[operator] = function
        return function

    return put


def ends_as_pairs(collection: Collection) -> bool:
    """Whether it is a table of input that ends."""
    return collection.shape is Shape.TABLE and collection.bounded


def wants_final(takes: Sequence[Shape], collection: Collection) -> bool:
    """Whether an operator of such inputs takes the final pairs of the collection, and not the table itself."""
    return ends_as_pairs(collection) and Shape.TABLE not in takes and Shape.PAIRS in takes


def final(step: Step, flow: Flow) -> Flow:
    """The pairs that such a table holds at the end; the same task for all who ask. What has written the table before
    has done so for whoever publishes behind it.
    """
    assert ends_as_pairs(flow.collection), "only what ends is final"
    ended, collection = step.unit.ended, Collection(Shape.PAIRS, flow.collection.element, True)
    if flow.draft not in ended:
        made = step.add(Changes(final=True), collection, (flow, Forward()), calls=0)
        made.word = "final"
        ended[flow.draft] = made
    return Flow(ended[flow.draft], collection, regrouped=True, written=flow.written)


def versions(step: Step, flow: Flow, group: GroupOp, ttl_us: int | None, value: Type) -> Flow:
    """What a table of that aggregation, which may forget keys, held at each time, as values of that type; the same task
    for all who ask.
    """
    there, ((source, exchange),) = step.unit.versions, flow.draft.inputs
    collection = Collection(Shape.PAIRS, pair_of(flow.collection.pair[0], value), False, timed=True)
    if flow.draft not in there:
        made = step.add(Versions(group, ttl_us), collection, (Flow(source, source.collection), exchange), calls=0)
        made.word = "versions"
        there[flow.draft] = made
    return Flow(there[flow.draft], collection, regrouped=True, written=flow.written)


def revised(step: Step, flow: Flow) -> Flow:
    """The pairs of a table that never ends, which are taken back as it changes; the same task for all who ask."""
    followed, collection = step.unit.followed, Collection(Shape.PAIRS, flow.collection.element, False, changing=True)
    if flow.draft not in followed:
        made = step.add(Revisions(), collection, (flow, Hash(("key",))), calls=0)
        made.word = "revisions"
        followed[flow.draft] = made
    return Flow(followed[flow.draft], collection, regrouped=True, written=flow.written)
