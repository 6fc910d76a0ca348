"""The queries of TPC-H give DuckDB's rows on both engines, and their page shows them as they are.

At the scale of the page: `python -m tests.conformance.tpch --scale 0.1`.
"""

import importlib.util
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.runtime.bundle import Bundle
from tests.conformance.tpch import Rows, answers, compiled, differences, lay_out, run_natively, run_on_spark

SCALE = 0.005
ON_SPARK = (
    "pricing",
    "cheapest_supplier",
    "market_share",
    "orders_of_customers",
    "best_supplier",
    "small_orders",
    "waiting_suppliers",
    "idle_customers",
)
"""Of each kind one: together they have all operators, and every way to join."""
SCRIPT = Path(__file__).parents[2] / "docs" / "compare_tpch.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tables are."""
    folder = tmp_path_factory.mktemp("tpch")
    lay_out(folder, SCALE)
    return folder


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Bundle:
    return compiled(folder)


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, Rows]:
    return answers(folder)[0]


@pytest.mark.slow
def test_the_native_engine_gives_the_rows_of_duckdb(bundle: Bundle, folder: Path, expected: dict[str, Rows]) -> None:
    assert all(rows and None not in rows[0].values() for rows in expected.values()), "each query finds something"
    run_natively(bundle, folder)
    assert differences(bundle, folder, expected) == {}


@pytest.mark.slow
def test_spark_gives_the_rows_of_duckdb(
    bundle: Bundle, folder: Path, expected: dict[str, Rows], spark: SparkSession
) -> None:
    shutil.rmtree(folder / "out", ignore_errors=True)
    run_on_spark(spark, bundle, folder, ON_SPARK)
    assert differences(bundle, folder, {name: expected[name] for name in ON_SPARK}) == {}


def test_the_page_is_current_and_most_queries_are_shorter_than_their_sql() -> None:
    spec = importlib.util.spec_from_file_location("compare_tpch", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lengths = [each.words for each in module.queries().values()]
    assert len(lengths) == 22
    assert sum(ours < others for ours, others in lengths) >= 20
    text = (module.DOCS / module.PAGE).read_text(encoding="utf-8")
    assert text == module.page(), "run: python docs/compare_tpch.py"
