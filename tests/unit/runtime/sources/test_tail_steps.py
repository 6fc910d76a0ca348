"""Whatever step of a rotation a look falls into, and whatever is done to logs meanwhile, every line is read once."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from ghcm.formats.files import find_files
from ghcm.runtime.sources.growing_file import Found, Position, find
from ghcm.runtime.sources.tail import Tailing
from tests.unit.runtime.sources.log_writer import LogWriter
from tests.unit.runtime.sources.test_tail import ALL, ROW, add, lines
from tests.unit.runtime.sources.test_tail_moments import LINE, LOGS, SEEDS


class Looks:
    """Looks of a source, and a snapshot of its positions to which it can go back."""

    def __init__(self, new: Callable[[dict[int, Position]], Tailing]) -> None:
        self.rows: list[object] = []
        self._new = new
        self._positions: dict[int, Position] = {}
        self._saved: tuple[dict[int, Position], int] = ({}, 0)
        self._tailing = new({})

    def look(self, most: int | None = None) -> list[object]:
        """The rows that come with all pieces of a look, or with the first ones."""
        before = len(self.rows)
        for piece in islice(self._tailing.look(), most):
            if piece.position is None:
                self._positions.pop(piece.file, None)
            else:
                self._positions[piece.file] = piece.position
            self.rows += [row[0] for row in piece.batch.rows()] if piece.batch is not None else []
            assert not piece.letters
        return self.rows[before:]

    def save(self) -> None:
        self._saved = dict(self._positions), len(self.rows)

    def restart(self) -> None:
        """Go on from what was saved."""
        self._tailing.close()
        positions, rows = self._saved
        self._positions = dict(enumerate((Position.restore(each.save()) for each in positions.values()), 1))
        del self.rows[rows:]
        self._tailing = self._new(dict(self._positions))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


@pytest.fixture
def log(base: Path) -> Path:
    return base / "in" / "app.log"


@pytest.fixture
def looks(base: Path) -> Looks:
    return Looks(lambda positions: Tailing(ALL, ROW, "p", base, positions))


def cut(log: Path, *numbers: int) -> None:
    os.truncate(log, 0)
    add(log, lines(*numbers))


def test_a_copy_that_is_met_before_anything_is_in_it(log: Path, looks: Looks) -> None:
    add(log, lines(1, 2))
    assert looks.look() == [1, 2]
    copy = log.with_name("app.log.1")
    copy.touch()
    assert looks.look() == []
    shutil.copy(log, copy)
    assert looks.look() == []
    cut(log, 3)
    assert looks.look() == [3]
    add(copy, lines(4))
    assert looks.look() == [4]


@pytest.mark.parametrize("met", [True, False], ids=["met empty", "not met"])
@pytest.mark.parametrize("name", ["app.log.1", "a.log"])
def test_a_log_that_is_copied_before_it_was_read(log: Path, looks: Looks, name: str, met: bool) -> None:
    if met:
        log.touch()
        assert looks.look() == []
    add(log, lines(1, 2))
    shutil.copy2(log, log.with_name(name))
    assert looks.look() == [1, 2]
    cut(log, 3)
    assert looks.look() == [3]
    looks.save()
    looks.restart()
    assert looks.look() == []


def test_a_log_that_has_grown_since_it_was_copied(log: Path, looks: Looks) -> None:
    before = range(100)
    add(log, lines(*before))
    shutil.copy2(log, log.with_name("a.log"))
    add(log, lines(100))
    assert looks.look() == [*before, 100]
    cut(log, 101)
    assert looks.look() == [101]


def test_a_copy_that_takes_the_place_of_an_older_one(log: Path, looks: Looks) -> None:
    copy = log.with_name("app.log.1")
    add(copy, lines(1))
    add(log, lines(2, 3))
    assert sorted(map(str, looks.look())) == ["1", "2", "3"]
    copy.write_bytes(log.read_bytes())
    assert looks.look() == []
    cut(log, 4)
    assert looks.look() == [4]


@pytest.mark.parametrize("after", ["listing", "asking"])
def test_a_log_that_is_renamed_while_it_is_found_again(
    log: Path, looks: Looks, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(log, lines(1, 2))
    assert looks.look() == [1, 2]
    looks.save()
    looks.restart()

    def rename() -> None:
        if not log.with_name("app.log.1").exists():
            log.rename(log.with_name("app.log.1"))
            add(log, lines(3))

    interrupt(monkeypatch, {after: rename})
    assert looks.look() + looks.look() == [3]
    add(log.with_name("app.log.1"), lines(4))
    assert looks.look() == [4]


def interrupt(monkeypatch: pytest.MonkeyPatch, meanwhile: dict[str, Callable[[], None]]) -> None:
    """Do something after files were listed, or after each was asked for."""

    def listed(path: str, base: Path) -> list[str]:
        names = find_files(path, base)
        meanwhile.get("listing", int)()
        return names

    def asked(name: str, base: Path) -> Found | None:
        found = find(name, base)
        meanwhile.get("asking", int)()
        return found

    monkeypatch.setattr("ghcm.runtime.sources.tail.find_files", listed)
    monkeypatch.setattr("ghcm.runtime.sources.tail.find", asked)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_line_is_read_once(base: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, acting, looking = random.Random(seed), False, False
    looks = Looks(lambda positions: Tailing(LOGS, LINE, "p", base, positions))

    def act() -> None:
        nonlocal acting
        acting = True
        writer.act()
        acting = False

    def perhaps_act() -> None:
        if not acting and chance.randrange(20) == 0:
            act()

    def look() -> None:
        nonlocal looking
        if looking:
            return
        looking = True
        if chance.randrange(6) == 0:
            looks.look(chance.randrange(4))
            looks.restart()
        looks.look()
        looking = False
        if chance.randrange(3) == 0:
            looks.save()

    interrupt(monkeypatch, {"listing": perhaps_act, "asking": perhaps_act})
    with LogWriter(base / "in", chance, look) as writer:
        for _ in range(60):
            act()
            look()
        monkeypatch.undo()
        while looks.look():
            pass
    assert sorted(looks.rows) == list(range(1, writer.written + 1))  # type: ignore[type-var]
