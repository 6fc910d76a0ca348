"""Engine and database killed at random moments: tables hold in the end what an undisturbed run would have left."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.system]

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("GHCM_SQL_KILLS", "5"))
SEED = int(os.environ.get("GHCM_SQL_SEED", "7"))


def start(base: Path, url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.system.sql_child", str(base), url]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> None:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "done" in out


def held(server: PostgresServer, database: str) -> tuple[list[str], list[str], list[str]]:
    counts = server.ask(database, "select key, value from counts order by key")
    words = server.ask(database, "select value, count(*) from words group by value order by value")
    staged = server.ask(database, "select count(*) from ghcm_versions where time is null")
    return counts, words, staged


def test_upserts_under_kill_9_equal_an_undisturbed_run(postgres_server: PostgresServer, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    calm, wild = tmp_path / "calm", tmp_path / "wild"
    counted: Counter[str] = Counter()
    for folder in (calm, wild):
        folder.mkdir()
    for number in range(4):
        lines = [" ".join(chance.choice(["cat", "dog", "eel", "fox"]) for _ in range(4)) for _ in range(6000)]
        counted.update(word for line in lines for word in line.split())
        for folder in (calm, wild):
            (folder / f"{number}.txt").write_text("\n".join(lines) + "\n")
    for folder in (calm, wild):
        postgres_server.ask("postgres", f"create database {folder.name}")
    finish(start(calm, postgres_server.url("calm")))
    kills = 0
    while kills < KILLS:
        process = start(wild, postgres_server.url("wild"))
        try:
            out, errors = process.communicate(timeout=chance.uniform(0.6, 1.6))
            assert process.returncode == 0 and "done" in out, errors
            break  # it was faster than its murderer
        except subprocess.TimeoutExpired:
            if chance.random() < 0.25:  # as if the machine of the database had lost its power, while rows come
                postgres_server.stop("immediate")
                postgres_server.start()
            process.kill()
            process.communicate()
            kills += 1
    finish(start(wild, postgres_server.url("wild")))
    print(f"{kills} kills")
    assert kills > 0
    assert held(postgres_server, "wild") == held(postgres_server, "calm")
    words = sorted(f"{word}|{count}" for word, count in counted.items())
    assert held(postgres_server, "wild") == (words, words, ["0"])
