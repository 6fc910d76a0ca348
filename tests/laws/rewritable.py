"""Small programs in which the laws of the optimiser find something to do, written in the language by a seed.

What the general generator makes by chance now and then stands here side by side: filters behind whatever they might be
moved through, functions that fail beside those that do not, two of everything, and readers that keep a task from being
merged. Values come from small domains, so that groups meet, joins find partners, and floats and nulls are hard ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Literal

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Program
from ghcm.spg.ops import Source as Read

__all__ = ["program_of", "text_of"]

_ROW = "{ k: null, n: 0, m: null, x: 0.0 }"
"""Stands for the rows of a source, which would take longest to read."""
_SURE = (
    "r.n > 1", "r.m is not null", 'r.k == "a"', "r.n > 0 and r.x < 2.0", "r.x == r.x", "true", "r.n != 2",
    'r.k is null or r.k > "a"', "not (r.n < 1)", "r.m == r.n",
)  # fmt: skip
_NEVER = ("false", "1 > 2", "r.n > 1 and false", "2 < 1 and r.m is null", "not (1 < 2)")
_FAILING = ("10 // r.n > 2", "r.n + 9223372036854775800 > 0")
_COPIES = (
    "R { k: r.k, n: r.n, m: r.m, x: r.x }", "R { k: r.k, n: r.n, m: r.n, x: r.x }",
    'R { k: if r.n > 1 then "a" else r.k, n: r.n, m: r.m, x: r.x }', "R { k: r.k, n: r.n, m: r.m, x: r.x * 2.0 }",
)  # fmt: skip
_WIDE = "R { k: if r.n == 9 then null else r.k, n: r.n, m: r.m, x: r.x * 2.0 }"
_BROKEN = ("R { k: r.k, n: 6 // r.n, m: r.m, x: r.x }", "R { k: r.k, n: r.n * 4611686018427387904, m: r.m, x: r.x }")
_REDUCERS = (
    "(a, b) => a + b", "(a, b) => min(a, b)", "(a, b) => max(a, b)",
    "@associative @commutative (a, b) => if a > b then a else b",
)  # fmt: skip
_FOLDS = (
    "length(v)", "v.min()", "v.max()", "v.sum()", "length(v) + length(v)", "v.max() ?? length(v)",
    "v[0]",
)  # fmt: skip


class _Writer:
    """Writes one program."""

    def __init__(self, seed: int, kind: Literal["batch", "stream"]) -> None:
        self.random = Random(seed)
        self.kind = kind
        self.lines: list[str] = []
        self.count = 0

    def one_of(self, *given: str) -> str:
        return self.random.choice(given)

    def named(self, text: str) -> str:
        """A line that gives the text a name."""
        self.count += 1
        self.lines.append(f"  x{self.count} = {text}")
        return f"x{self.count}"

    def source(self) -> str:
        return self.named(f"memory([{_ROW}]).as(R)")

    def condition(self, record: str = "r") -> str:
        text = self.random.choice(_FAILING) if self.random.random() < 0.15 else self.random.choice(_SURE)
        return text.replace("r.", f"{record}.")

    def mapped(self) -> str:
        return self.random.choice(_BROKEN) if self.random.random() < 0.15 else self.random.choice(_COPIES)

    def branch(self, depth: int) -> str:
        """A stream of `R`."""
        at = self.source()
        for _ in range(self.random.randint(0, depth)):
            at = self.step(at, depth - 1)
        return at

    def step(self, at: str, depth: int) -> str:
        kinds = ["filter"] * 3 + ["map"] * 3 + ["flat_map"] * 2 + ["union"] * 4 + ["pairs"] * 5 + ["distinct", "key_by"]
        if self.kind == "batch":
            kinds += ["sort", "top", "join", "join", "joined_groups", "joined_groups", "iterate", "whole"]
        match self.random.choice(kinds):
            case "filter":
                return self.named(f"{at}.filter(r => {self.condition()})")
            case "map":
                return self.named(f"{at}.map(r => {self.mapped()})")
            case "flat_map":
                before = self.one_of("", f".map(r => {self.mapped()})")
                doubled = self.named(f"{at}{before}.flat_map(r => [r, {self.mapped()}])")
                return self.one_of(doubled, self.named(f"{doubled}.distinct()"))
            case "distinct":
                once = self.named(f"{at}.distinct()")
                return self.named(f"{once}.distinct()") if self.random.random() < 0.5 else once
            case "union":
                before = self.one_of("", f".map(r => {self.mapped()})", f".filter(r => {self.condition()})")
                others = [f"{self.branch(max(depth, 0))}{before}" for _ in range(self.random.randint(1, 2))]
                others[0] += self.never(0.15)
                kept = self.one_of("", f".filter(r => {self.condition()})")
                return self.named(f"{at}{before}.union({', '.join(others)}){kept}")
            case "sort":
                by = self.one_of("r.n", "r.k", "10 // r.n", "r.x")
                ordered = self.named(f"{at}.sort(by = r => {by})")
                return self.named(ordered + self.one_of(".distinct()", ".sort(by = r => r.m)", ".filter(r => r.n > 1)"))
            case "top":
                return self.named(f"{at}.top(3, by = r => r.{self.one_of('n', 'k', 'm')})")
            case "join":
                return self.join(at, self.branch(max(depth, 0)))
            case "joined_groups":
                return self.joined_groups(at, self.branch(max(depth, 0)))
            case "iterate":
                sure = "r.n > 0 and r.x < 2.0"
                steps = f".filter(r => {self.one_of(sure, self.random.choice(_FAILING))}).map(r => {_WIDE})"
                steps += self.one_of("", f".filter(r => {sure})")
                return self.named(f"{at}.map(r => {_WIDE}).iterate(step = s => s{steps}, limit = 2)")
            case "whole":
                counted = self.named(f"{at}{self.never(0.3)}.count()")
                return self.named(f'{counted}.map(n => R {{ k: "a", n: n, m: null, x: 0.0 }})')
            case "key_by":
                behind = self.one_of(f".filter(p => {self.condition('p.value')})", "")
                back = ".map(p => R { k: p.key, n: p.value.n, m: p.value.m, x: p.value.x })"
                before = self.one_of("", f".map(r => {self.mapped()})")
                return self.named(f"{at}{before}.key_by(r => r.k){behind}{back}")
            case _:
                return self.back(self.groups(self.pairs(at)))

    def never(self, share: float) -> str:
        """Now and then a filter that is never true."""
        return f".filter(r => {self.random.choice(_NEVER)})" if self.random.random() < share else ""

    def join(self, at: str, other: str) -> str:
        other = self.named(f"{other}{self.never(1)}") if self.random.random() < 0.15 else other
        kind = self.one_of("inner", "inner", "left", "right", "full", "semi", "anti")
        on = self.one_of("a.k == b.k", "a.n == b.n", "a.n == b.n and a.m == b.m", "a.n == b.n and a.x < b.x")
        joined = self.named(f"{at}.join({other}, on = (a, b) => {on}, kind = {kind})")
        if kind in ("semi", "anti"):
            return self.named(f"{joined}.filter(r => {self.condition()})")
        sides = {"inner": ("", ""), "left": ("", "?"), "right": ("?", ""), "full": ("?", "?")}[kind]
        conditions = ["j.left is not null", "j.right is null", "true"]
        conditions += [f"j.{side}.{rest}" for side in ("left", "right") for rest in ("n > 1", 'k == "a"', "m is null")]
        conditions += ["j.left.n == j.right.n"]
        kept = self.named(f"{joined}.filter(j => {self.random.choice(conditions)})")
        side = "left" if not sides[0] else "right"
        if sides[0] and sides[1]:
            return self.named(f"{kept}.map(j => R {{ k: j.left.k ?? j.right.k, n: 0, m: j.right.m, x: 0.0 }})")
        return self.named(f"{kept}.map(j => R {{ k: j.{side}.k, n: j.{side}.n, m: j.right.m, x: j.{side}.x }})")

    def joined_groups(self, at: str, other: str) -> str:
        """Groups of what a join gives."""
        on = self.one_of(
            *["a.n == b.n"] * 4, 'a.n == b.n and (a.k ?? "b") == b.k', 'length(a.k ?? "") == b.n', "a.x == b.x"
        )
        joined = self.named(f"{at}.join({other}, on = (a, b) => {on})")
        if self.random.random() < 0.3:
            joined += f".filter(j => {self.one_of('j.right.n > 1', 'j.left.n > 1', 'j.left.n == j.right.n')})"
        keys = (
            "j.left.n",
            "j.right.n",
            "j.right.m ?? j.left.n",
            "if j.left.n > 1 then j.right.n else 0",
            'length(j.right.k ?? "")',
        )
        key = self.one_of(*keys * 2, "j.left.m ?? 0", "6 // j.left.n")
        values = ('length(j.left.k ?? "b")', "if j.left.x > 1.0 then 1 else 2", "j.left.n", "j.left.m ?? 0") * 2
        pairs = f"{joined}.map_to_pair(j => ({key}, {self.one_of(*values)}))"
        match self.random.randrange(3):
            case 0:
                grouped = f"{pairs}.reduce_by_key({self.random.choice(_REDUCERS)})"
            case 1:
                grouped = f"{pairs}.count()"
            case _:
                totals = self.one_of(
                    "n = count(), most = max(value)",
                    "n = count(value), most = min(value)",
                    "n = sum(value)",
                    "n = max(value), most = mean(value)",
                )
                grouped = f"{pairs}.aggregate_by_key({totals}).map_values(v => v.n)"
        return self.named(f'{self.named(grouped)}.map(p => R {{ k: "a", n: p.key, m: p.value, x: 1.0 }})')

    def pairs(self, at: str) -> str:
        value = self.one_of("r.n", "r.n", "r.n", "6 // r.n")
        made = f"{at}.map_to_pair(r => (r.k, {value}))"
        made += self.one_of("", "", f".map_values(v => {self.one_of('if v > 1 then 1 else v', 'v', '6 // v')})")
        made += self.one_of("", f".filter(p => {self.one_of('p.value > 1', 'p.key is not null', 'p.key is null')})")
        return self.named(made)

    def groups(self, at: str) -> str:
        """Pairs of a text and a number, one of each key."""
        match self.random.randrange(4):
            case 0:
                made = f"{at}.reduce_by_key({self.random.choice(_REDUCERS)})"
            case 1:
                made = f"{at}.count()"
            case 2:
                part = self.one_of("n", "most")
                made = f"{at}.aggregate_by_key(n = count(), most = max(value)).map_values(v => v.{part})"
            case _:
                made = f"{at}.group_by_key().map_values(v => {self.random.choice(_FOLDS)})"
        kept = ["p.key is not null", 'p.key == "a"', "p.value == 1", "1 > 2"]
        return self.named(made + self.one_of("", *(f".filter(p => {each})" for each in kept)))

    def back(self, at: str) -> str:
        return self.named(f"{at}.map(p => R {{ k: p.key, n: p.value ?? 0, m: p.value, x: 1.0 }})")


def text_of(seed: int, kind: Literal["batch", "stream"] | None = None) -> str:
    """The program of that number: its unit is "u", its sinks are "out" and perhaps "also"."""
    random = Random(seed)
    kinds: tuple[Literal["batch", "stream"], ...] = ("batch", "batch", "stream")
    chosen: Literal["batch", "stream"] = kind if kind is not None else random.choice(kinds)
    writer = _Writer(seed, chosen)
    at = writer.step(writer.step(writer.branch(1), 1), 1)
    ends, sinks = [f"  {at}.to(out)"], ['sink out = files("out", mode = append)']
    if random.random() < 0.3:
        ends.append(f"  x{random.randint(1, writer.count)}.to(also)")
        sinks.append('sink also = files("also", mode = append)')
    record = "record R { k: string?, n: int, m: int?, x: float }"
    return "\n".join(["program rewritable", record, *sinks, f"{chosen} u {{", *writer.lines, *ends, "}", ""])


@cache
def program_of(seed: int, kind: Literal["batch", "stream"] | None = None) -> Program:
    """The graph of the program of that number, with rows in its sources."""
    program = lower(parse(Source("rewritable.istream", text_of(seed, kind))))
    random, (unit,) = Random(seed), program.units
    tasks = (replace(task, op=_filled(random)) if isinstance(task.op, Read) else task for task in unit.tasks)
    return replace(program, units=(replace(unit, tasks=tuple(tasks)),))


def _filled(random: Random) -> Read:
    domains: tuple[list[object], ...] = (["a", "b", "c", None], [0, 1, 2, 3, 3], [None, 1, 2], [0.0, -0.0, 1.5])
    rows = [tuple([random.choice(each) for each in domains]) for _ in range(random.randint(1, 6))]
    return Read(Memory(tuple(rows)))
