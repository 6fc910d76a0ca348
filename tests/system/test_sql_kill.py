"""Engine and database killed at random moments: tables hold in the end what an undisturbed run would have left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.campaigns import times
from tests.postgres_server import PostgresServer
from tests.system.sql_child import RATE, REMAINDERS

pytestmark = [pytest.mark.slow, pytest.mark.system]

ROOT = Path(__file__).resolve().parents[2]
KILLS = times(4)
SEED = int(os.environ.get("GHCM_SQL_SEED", "7"))
ROWS = KILLS * RATE * 3
"""So many that it is killed so often before it has come to its end."""


def start(base: Path, url: str, steps: int = 0) -> subprocess.Popen[str]:
    base.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.system.sql_child", str(base), url, str(ROWS), str(steps)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> None:
    out, errors = process.communicate(timeout=200)
    assert process.returncode == 0 and "done" in out, errors


def held(server: PostgresServer, database: str) -> tuple[list[str], list[str], list[str]]:
    latest = server.ask(database, "select key, value from latest order by key")
    numbers = server.ask(database, "select count(*), count(distinct number), min(number), max(number) from numbers")
    return latest, numbers, server.ask(database, "select count(*) from ghcm_versions where time is null")


def test_upserts_under_kill_9_equal_an_undisturbed_run(postgres_server: PostgresServer, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    calm, wild = postgres_server.url("calm"), postgres_server.url("wild")
    for name in ("calm", "wild"):
        postgres_server.ask("postgres", f"create database {name}")
    undisturbed = start(tmp_path / "calm", calm)
    seen = list[int]()
    for _ in range(KILLS):
        process = start(tmp_path / "wild", wild, chance.randint(50, 150))
        _, errors = process.communicate(timeout=100)
        assert process.returncode == -signal.SIGKILL, errors
        seen += map(int, postgres_server.ask("wild", "select count(*) from numbers"))
    finish(undisturbed)
    last = start(tmp_path / "wild", wild)
    time.sleep(chance.uniform(1.5, 3.0))
    postgres_server.stop()  # as if its machine had lost its power
    postgres_server.start()
    finish(last)
    print(f"{KILLS} kills; rows seen after them: {seen}")
    assert len(set(seen)) > 2, "it was killed too early to show anything"
    assert held(postgres_server, "wild") == held(postgres_server, "calm")
    numbers = f"{ROWS}|{ROWS}|0|{ROWS - 1}"
    latest = [f"{key}|{ROWS - 1 - (ROWS - 1 - key) % REMAINDERS}" for key in range(REMAINDERS)]
    assert held(postgres_server, "wild") == (latest, [numbers], ["0"])
