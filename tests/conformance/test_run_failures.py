"""What cannot be run is told in the same words by both engines: code, place in the program, reason, and what to do."""

import gzip
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.slot.engine import Engine
from ghcm.runtime.spark.failure import spark_failure
from tests.redis_server import connected

pytestmark = pytest.mark.slow

_CASES = {
    "missing": ('files("nothing.csv", format = csv)', "GHCM-735", "see that the path is right"),
    "near": ('files("in/hostz.csv", format = csv)', "GHCM-735", 'did you mean "in/hosts.csv"?'),
    "empty": ('files("bare", format = json)', "GHCM-735", "found by a glob"),
    "column": ('files("in/hosts.csv", format = csv)', "GHCM-736", 'for "name", did you mean "nam"?'),
    "parts": ('files("in/*.tsv", format = tsv)', "GHCM-736", "one that may be missing ends in ?"),
    "headless": ('files("in/bare.log", format = zeek)', "GHCM-736", "format = json"),
    "cut": ('files("in/cut.jsonl.gz", format = json)', "GHCM-735", "packed as its ending says"),
    "cut_csv": ('files("in/cut.csv.gz", format = csv)', "GHCM-735", "packed as its ending says"),
    "unpacked": ('files("in/unpacked.csv.gz", format = csv)', "GHCM-735", "packed as its ending says"),
    "parquet": ('files("in/hosts.csv", format = parquet)', "GHCM-736", "format = arrow"),
    "arrow": ('files("in/hosts.parquet", format = arrow)', "GHCM-736", "format = parquet"),
    "short": ('files("in/hosts.parquet", format = parquet)', "GHCM-736", 'did you mean "nam"?'),
    "blocked": ('files("in/good.csv", format = csv)', "GHCM-730", "let the user of this process"),
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """All cases in one program, as a stream and as a batch each."""
    folder = tmp_path_factory.mktemp("failures")
    text = "program failing\n\nrecord Host { name: string, size: int }\n"
    for name, (source, _, _) in _CASES.items():
        text += f'sink {name}_out = files("out/{name}", format = json, mode = append)\n'
        for kind in ("stream", "batch"):
            text += f"{kind} {kind}_{name} {{\n  rows = {source}.as(Host)\n  rows.to({name}_out)\n}}\n"
    (folder / "failing.istream").write_text(text)
    _write_inputs(folder)
    return Bundle.open(build(folder / "failing.istream", folder / "failing.ghcm"), cache=folder / "cache")


def _write_inputs(folder: Path) -> None:
    for name in ("in", "bare", "out"):
        (folder / name).mkdir()
    (folder / "in" / "hosts.csv").write_text("nam,siz\na,1\n")
    (folder / "in" / "a.tsv").write_text("id\tkind\n1\t2\n")
    (folder / "in" / "bare.log").write_text("a\t1\n")
    for name, text in (("cut.jsonl.gz", '{"name": "a", "size": 1}\n'), ("cut.csv.gz", "name,size\n" + "a,1\n")):
        (folder / "in" / name).write_bytes(gzip.compress(text.encode() * 1000)[:-20])
    (folder / "in" / "unpacked.csv.gz").write_text("name,size\na,1\n")
    pl.DataFrame({"nam": ["a"], "size": [1]}).write_parquet(folder / "in" / "hosts.parquet")
    (folder / "in" / "good.csv").write_text("name,size\na,1\n")
    (folder / "out" / "blocked").write_text("a file where the folder should be")


def native(bundle: Bundle, case: str) -> GhcmError:
    """How the native engine fails."""
    base = bundle.path.parent
    state = base / "state" / case
    with pytest.raises(GhcmError) as failed:
        Engine(bundle, [f"stream_{case}"], connections=connected(base), state=state).run()
    return failed.value


def spark_(bundle: Bundle, case: str, spark: SparkSession) -> GhcmError:
    """How the Spark driver answers."""
    unit = f"batch_{case}"
    context = {"call": f"call-{case}", "base": str(bundle.path.parent)}
    with pytest.raises(ValueError, match='"code": "GHCM-') as failed:
        bundle.unit_module(unit, "spark").run(spark, {}, context)
    return spark_failure(bundle.program.unit(unit), failed.value, bundle.line)


@pytest.mark.parametrize("case", _CASES)
def test_both_engines_say_the_same(case: str, bundle: Bundle, spark: SparkSession) -> None:
    _, code, hint = _CASES[case]
    streams, batches = native(bundle, case), spark_(bundle, case, spark)
    assert (streams.code, hint in streams.hint) == (code, True), streams
    assert streams.place is not None and batches.place is not None
    assert "^" in str(streams)
    lines = batches.place.origin.line - streams.place.origin.line
    assert lines == 4
    said = str(batches).replace("batch_", "stream_").replace(f":{batches.place.origin.line}:", ":LINE:")
    expected = str(streams).replace(f":{streams.place.origin.line}:", ":LINE:")
    assert _unnumbered(said) == _unnumbered(expected)


def _unnumbered(text: str) -> list[str]:
    """The lines without the numbers of the margin, which differ in their width too."""
    return [line.lstrip(" 0123456789") for line in text.splitlines()]
