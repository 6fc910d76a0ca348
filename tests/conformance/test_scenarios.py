"""The attack chains of the traffic monitor on Spark equal those of a recursive query in DuckDB, for ten teams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pytest
from pyspark.sql import SparkSession

from examples.traffic.cptc import alerts, write_alerts
from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from tests.conftest import Golden

PROGRAM = Path(__file__).parents[2] / "examples" / "traffic" / "traffic.istream"
QUERY = Path(__file__).with_name("scenarios.sql")
STORIES = Path(__file__).parents[1] / "golden" / "scenarios.txt"

Rows: TypeAlias = list[dict[str, Any]]


class Lake:
    """What the unit has written, and what answers for it, as DuckDB reads them."""

    def __init__(self, folder: Path) -> None:
        self._database = duckdb.connect()
        self._database.execute("SET timezone = 'UTC'")
        for name in ("alerts", "chains", "steps"):
            self._database.execute(f"CREATE VIEW {name} AS FROM '{folder}/out/{name}/*.parquet'")

    def rows(self, query: str) -> Rows:
        """The rows of a query, by name."""
        found = self._database.execute(query)
        names = [column[0] for column in found.description or []]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return Bundle.open(build(PROGRAM, tmp_path_factory.mktemp("traffic") / "traffic.ghcm"))


@pytest.fixture(scope="module")
def folder(bundle: Bundle, shared: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the chains of the ten teams have been rebuilt."""
    folder = tmp_path_factory.mktemp("scenarios")
    write_alerts(alerts(shared / "data" / "ids_cptc2017_suricata"), folder / "out" / "alerts")
    found = bundle.unit_module("rebuild", "spark").run(spark, {}, context(folder, "rebuilt"))
    assert found["dead"] == 0
    return folder


def context(folder: Path, call: str) -> Mapping[str, str]:
    return {"call": call, "base": str(folder), "dead": str(folder / "dead")}


@pytest.fixture(scope="module")
def expected(folder: Path) -> Rows:
    return Lake(folder).rows(QUERY.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_chains_are_those_of_the_query(folder: Path, expected: Rows) -> None:
    chains = Lake(folder).rows("SELECT * EXCLUDE story FROM chains")
    assert chains == [{name: value for name, value in row.items() if name != "steps"} for row in expected]
    assert max(row["length"] for row in chains) == 7


@pytest.mark.slow
def test_the_steps_are_those_of_the_query(folder: Path, expected: Rows) -> None:
    steps = Lake(folder).rows("SELECT * REPLACE (to_microseconds(after) AS after) FROM steps ORDER BY chain, position")
    assert steps == list(steps_of(expected))


def steps_of(chains: Rows) -> Iterator[dict[str, Any]]:
    for chain in sorted(chains, key=lambda row: str(row["id"])):
        for position, step in enumerate(chain["steps"], 1):
            yield {"chain": chain["id"], "position": position, **step}


@pytest.mark.slow
def test_the_attack_of_each_team_is_told(folder: Path, golden: Golden) -> None:
    best = 'arg_max(story, (score, "begin", id))'
    teams = f"SELECT split_part(attacker, '.', 2)::INT AS team, {best} AS story FROM chains GROUP BY 1 ORDER BY 1"
    rows = Lake(folder).rows(teams)
    assert [row["team"] for row in rows] == list(range(1, 11))
    golden(STORIES, "".join(f"Team {row['team']}\n{row['story']}\n\n" for row in rows))


@pytest.mark.slow
def test_the_scenarios_of_an_attacker_are_the_chains_in_which_it_attacks(
    bundle: Bundle, folder: Path, expected: Rows, spark: SparkSession
) -> None:
    unit, attacker = bundle.unit_module("scenarios_of", "spark"), "10.9.254.31"
    found = unit.run(spark, {"attacker": attacker, "n": 3}, context(folder, "asked"))
    mine = [row["id"] for row in expected if attacker in row["hosts"][:-1]]
    assert [row["id"] for row in found["reply"]] == mine[:3]
    assert len(mine) > 3
    assert unit.run(spark, {"attacker": "192.0.2.1"}, context(folder, "nobody"))["reply"] == []
