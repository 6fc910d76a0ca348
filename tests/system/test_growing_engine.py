"""Engines that become other versions of their program at random moments, and are cut: the same as without that."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.formats.file_pieces import FIRST_PIECE
from ghcm.runtime.jobs.calls import Call, CallStore, Start
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Feedback, Instruction
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.runtime.upgrade import compare, version_of
from tests.redis_server import connected
from tests.system.growing import check_changed_policy, check_kept_policy, versions

pytestmark = pytest.mark.slow

ROWS = 20_000


@dataclass
class Noted:
    """The call store, as far as publishers need it: an id is one call for ever."""

    calls: dict[str, Instruction] = field(default_factory=dict[str, Instruction])

    def accept(self, instruction: Instruction) -> Call:
        raise AssertionError(instruction)

    def accept_own(self, instruction: Instruction) -> bool:
        known = self.calls.setdefault(instruction.id, instruction)
        assert (known.unit, known.parameters) == (instruction.unit, instruction.parameters)
        return True

    def sync(self) -> None:
        """Nothing: it is in this process alone."""

    def started(self, instruction: Instruction, executor: str) -> tuple[Start, Call]:
        raise AssertionError(instruction)

    def finish(self, id: str, feedback: Feedback, reply: str | None = None) -> Feedback:
        raise AssertionError(id)

    def first_open(self, program: str, units: Collection[str]) -> str | None:
        raise AssertionError(program)

    def answered(self, id: str) -> bool:
        raise AssertionError(id)


class Crash(Exception):
    """The end of the process."""


@dataclass
class World:
    """A job across the lives of its engine; `version` and `since` are what the job store has."""

    bundles: tuple[Bundle, Bundle]
    base: Path
    connections: Connections
    calls: Noted = field(default_factory=Noted)
    version: int = 1
    since: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])

    @property
    def bundle(self) -> Bundle:
        return self.bundles[(self.version - 1) % 2]

    def engine(self, commit_s: float, piece: int = FIRST_PIECE) -> Engine:
        state = self.base / "state"
        return Engine(
            self.bundle,
            connections=self.connections,
            state=state,
            commit_s=commit_s,
            calls=cast("CallStore", self.calls),
            since=self.since,
            piece=piece,
        )

    def grow(self, engine: Engine, crash: str) -> None:
        """Become the next version; `crash` says whether the process ends `before` or `after` the store has it."""
        after, version = self.bundles[self.version % 2], self.version + 1
        since = compare(version_of(self.bundle), version_of(after)).since(self.since, version)

        def commit() -> None:
            if crash == "before":
                raise Crash
            self.version, self.since = version, since
            if crash == "after":
                raise Crash

        engine.upgrade(after, since, commit)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Bundle]:
    base = tmp_path_factory.mktemp("growing")
    (base / "numbers.json").write_text("".join(f'{{"number": {n}}}\n' for n in range(ROWS)))
    found: list[Bundle] = []
    for number, text in enumerate(versions('files("numbers.json", format = json).as(Number)')):
        source = base / f"{number}.istream"
        source.write_text(text)
        found.append(Bundle.open(build(source), cache=base / "cache"))
    return found[0], found[1]


def check(world: World) -> None:
    """The results of an undisturbed run."""
    program, connections = world.bundle.program, world.connections
    assert Counter(read(program.sink("all"), connections)) == Counter((n,) for n in range(ROWS))
    assert Counter(read(program.sink("sevens"), connections)) == Counter((n,) for n in range(0, ROWS, 7))
    assert dict(read(program.sink("latest"), connections)) == dict.fromkeys(range(10), ROWS // 10)  # type: ignore[arg-type]
    calls = world.calls.calls
    check_kept_policy("shop", {id: call.parameters for id, call in calls.items()}, ROWS)
    check_changed_policy([(id, each.unit, each.parameters) for id, each in calls.items() if ".sevens." in id])


@pytest.mark.parametrize("seed", range(8))
def test_an_engine_that_grows_and_is_cut_gives_what_a_straight_run_gives(
    bundles: tuple[Bundle, Bundle], tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    piece = chance.choice([500, 5000])
    (tmp_path / "numbers.json").symlink_to(bundles[0].path.parent / "numbers.json")
    world = World(bundles, tmp_path, connected(tmp_path))
    for _ in range(5):
        engine = world.engine(0.002, piece)
        engine.start()
        for crash in chance.choices(["", "before", "after"], weights=[3, 1, 1], k=3):
            engine.wait(timeout=chance.uniform(0, 0.1))
            try:
                world.grow(engine, crash)
            except Crash:
                break
        engine.close()
        engine.check()
    world.engine(0.05, piece).run()
    check(world)


def test_what_is_refused_changes_nothing(bundles: tuple[Bundle, Bundle], tmp_path: Path) -> None:
    (tmp_path / "numbers.json").symlink_to(bundles[0].path.parent / "numbers.json")
    world = World(bundles, tmp_path, connected(tmp_path))
    other = tmp_path / "other.istream"
    other.write_text(versions('files("numbers.json", format = json).as(Number)')[0].replace("% 7", "% 5"))
    with world.engine(0.01) as engine:
        with pytest.raises(GhcmError, match="cannot be changed while it runs"):
            engine.upgrade(Bundle.open(build(other)), {}, lambda: None)
        with pytest.raises(Crash):
            world.grow(engine, "before")
        assert engine.wait(60)
    assert world.version == 1
    check(world)
