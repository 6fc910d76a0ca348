"""Local variables of a traced function: a value that is used more than once becomes a `let`.

The `let` stands where the value is certain to be wanted, and nowhere else: a value that only some branches use is
computed in these. So sharing changes no result and adds no failure.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast, get_args

from ghcm.language import ast, trees
from ghcm.language.fluent.positions import mistake

_LARGEST = 100_000
"""Nodes of one expression with all that is not shared written out."""

_MOST_REGIONS = 1_000
"""Parts of an expression in which one value is wanted."""

_Region: TypeAlias = "tuple[_Region, int, int] | None"
"""A part of an expression that is evaluated as a whole or not at all: inside a region, a node, one of its children."""


def shared(body: ast.Expr) -> ast.Expr:
    """The expression with a `let` for each value that it holds more than once."""
    nodes = _parents_first(body)
    edges: dict[int, int] = {}
    for node in nodes:
        for child, _ in _children(node):
            edges[id(child)] = edges.get(id(child), 0) + 1
    methods = {id(node.function) for node in nodes if isinstance(node, ast.Apply)}
    several = {key for key, count in edges.items() if count > 1} - methods
    wanted = {id(node) for node in nodes if id(node) in several and _is_computed(node)}
    return _Sharing(nodes, body, wanted).whole() if wanted else body


def _too_large(body: ast.Expr) -> Exception:
    hint = "compute it in steps, by several .map(...)"
    return mistake("GHCM-131", "this expression grows without measure", body.span, hint=hint)


def _is_computed(node: ast.Expr) -> bool:
    match node:
        case ast.Literal() | ast.Ref() | ast.Lambda():
            return False
        case ast.Attribute(of=of) | ast.Index(of=of, index=ast.Literal()):
            return _is_computed(of)
        case _:  # everything else costs something each time it is evaluated
            return True


def _children(node: ast.Expr) -> Iterator[tuple[ast.Expr, bool]]:
    """The parts of a node that are expressions, and whether each may be left out when it is evaluated."""
    held = (part.value if isinstance(part, ast.Argument | ast.Case) else part for part in trees.parts(node))
    parts = (cast("ast.Expr", part) for part in held if isinstance(part, _EXPRESSIONS))
    match node:
        case ast.Lambda() | ast.Apply(function=ast.Ref(name="try") | ast.Attribute(name="try")):
            yield from ((part, True) for part in parts)
        case ast.IfElse() | ast.Match() | ast.Binary(op="and" | "or" | "??"):
            yield from ((part, index > 0) for index, part in enumerate(parts))
        case _:  # every other part is wanted whenever the whole is
            yield from ((part, False) for part in parts)


_EXPRESSIONS: tuple[type, ...] = get_args(ast.Expr)


def _parents_first(body: ast.Expr) -> list[ast.Expr]:
    """Every node once, each before its parts; without recursion."""
    done: dict[int, ast.Expr] = {}
    waiting: list[tuple[ast.Expr, bool]] = [(body, False)]
    while waiting:
        node, entered = waiting.pop()
        if entered:
            done[id(node)] = node
        elif id(node) not in done:
            waiting.append((node, True))
            waiting += [(child, False) for child, _ in _children(node) if id(child) not in done]
    return list(done.values())[::-1]


@dataclass
class _Sharing:
    nodes: list[ast.Expr]
    body: ast.Expr
    wanted: set[int]
    homes: dict[int, set[_Region]] = field(default_factory=dict[int, "set[_Region]"])
    kept: dict[int, tuple[str, _Region]] = field(default_factory=dict[int, "tuple[str, _Region]"])

    def whole(self) -> ast.Expr:
        """The body with every `let` where it belongs."""
        self._settle()
        self._check_size()
        return self._around(None, self._made(self.body, None))

    def _settle(self) -> None:
        """Where each node is evaluated, and which are kept."""
        taken = {each.name for each in self.nodes if isinstance(each, ast.Ref)}
        incoming: dict[int, list[_Region]] = {id(self.body): [None]}
        for node in self.nodes:
            regions = incoming.get(id(node), [])
            if len(regions) > _MOST_REGIONS:
                raise _too_large(self.body)
            self.homes[id(node)] = set(regions)
            common = _common(regions)
            if id(node) in self.wanted and common in regions:
                name = _name(taken)
                self.kept[id(node)] = name, common
                self.homes[id(node)] = {common}
            for index, (child, lazy) in enumerate(_children(node)):
                for home in self.homes[id(node)]:
                    region: _Region = (home, id(node), index) if lazy else home
                    incoming.setdefault(id(child), []).append(region)

    def _check_size(self) -> None:
        """Refuse what would be too large with all that is not shared written out."""
        sizes: dict[int, int] = {}
        for node in reversed(self.nodes):
            parts = (1 if id(child) in self.kept else sizes[id(child)] for child, _ in _children(node))
            sizes[id(node)] = 1 + sum(parts)
        if sizes[id(self.body)] + sum(sizes[key] for key in self.kept) > _LARGEST:
            raise _too_large(self.body)

    def _around(self, region: _Region, inner: ast.Expr) -> ast.Expr:
        for node in self.nodes:
            name, home = self.kept.get(id(node), ("", ()))
            if name and home == region:
                inner = ast.Let(ast.Name(name, span=node.span), self._parts_made(node, region), inner, span=inner.span)
        return inner

    def _made(self, node: ast.Expr, region: _Region) -> ast.Expr:
        if id(node) in self.kept:
            return ast.Ref(self.kept[id(node)][0], span=node.span)
        return self._parts_made(node, region)

    def _parts_made(self, node: ast.Expr, region: _Region) -> ast.Expr:
        made: list[ast.Expr] = []
        for index, (child, lazy) in enumerate(_children(node)):
            inner: _Region = (region, id(node), index) if lazy else region
            found = self._made(child, inner)
            made.append(self._around(inner, found) if lazy else found)
        return _with_parts(node, iter(made))


def _common(regions: list[_Region]) -> _Region:
    """The innermost region in which all of them are."""
    ways = [list(_outwards(region))[::-1] for region in regions]
    common: _Region = None
    for level in zip(*ways, strict=False):
        if any(each != level[0] for each in level):
            break
        common = level[0]
    return common


def _outwards(region: _Region) -> Iterator[_Region]:
    while region is not None:
        yield region
        region = region[0]
    yield None


def _name(taken: set[str]) -> str:
    name, number = "shared", 1
    while name in taken:
        number += 1
        name = f"shared_{number}"
    taken.add(name)
    return name


def _with_parts(node: ast.Expr, parts: Iterator[ast.Expr]) -> ast.Expr:
    def put(held: object) -> object:
        if isinstance(held, ast.Argument | ast.Case):
            value = next(parts)
            return held if value is held.value else replace(held, value=value)
        return next(parts) if isinstance(held, _EXPRESSIONS) else held

    return trees.changed(node, put)
