"""The smaller example: both front ends, and what the program and its client outside tell, against a plain count."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from ghcm import driver
from tests.system.running import Running, ghcm, running, until

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "wordcount"


def words() -> list[tuple[str, str, int]]:
    """Every word of the books with its book and line, found without us."""
    return [
        (f"books/{book.name}", word, number)
        for book in sorted((EXAMPLE / "books").glob("*.txt"))
        for number, line in enumerate(book.read_text().splitlines(), 1)
        for word in re.findall("[a-z]+", line.lower())
    ]


def test_both_front_ends_give_the_same_graph() -> None:
    assert driver.check(EXAMPLE / "wordcount.istream") == driver.check(EXAMPLE / "wordcount.py")


def test_the_program_is_canonical() -> None:
    assert ghcm("fmt", "--check", EXAMPLE / "wordcount.istream", cwd=EXAMPLE).returncode == 0


def test_the_books_are_what_their_generator_writes(tmp_path: Path) -> None:
    (tmp_path / "make_books.py").write_text((EXAMPLE / "make_books.py").read_text())
    subprocess.run([sys.executable, "make_books.py"], cwd=tmp_path, check=True)
    for book in (EXAMPLE / "books").iterdir():
        assert (tmp_path / "books" / book.name).read_text() == book.read_text()


def test_the_client_is_twenty_lines() -> None:
    assert len((EXAMPLE / "client.py").read_text().splitlines()) <= 20


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_program_and_the_client_outside_tell_what_a_plain_count_tells(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    found = words()
    with running(tmp_path) as daemon:
        daemon.submit("wordcount.istream")
        until(lambda: kept(tmp_path).height == len(found), "all words to be written")
        until(lambda: set(answers(daemon)) == {"done"}, "the calls by policy, which wait for Java", patience=480)
        done = subprocess.run(
            [sys.executable, "client.py", daemon.url], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    counted = Counter(word for _, word, _ in found)
    lantern = counted["lantern"]
    assert f"[{{'key': 'lantern', 'value': {lantern}}}]" in done.stdout

    assert sorted(kept(tmp_path).rows()) == sorted(found)
    windows = pl.concat([pl.read_ndjson(path) for path in (tmp_path / "out/per_window").glob("part-*.json")])
    assert dict(windows.group_by("key").agg(pl.col("value").sum()).rows()) == counted

    stop_words = {line.split(",")[0] for line in (EXAMPLE / "stop_words.csv").read_text().splitlines()[1:]}
    early = Counter((book, word) for book, word, line in found if line <= 300 and word in stop_words)
    for book in {book for book, _, _ in found}:
        word, count = max(((w, n) for (b, w), n in early.items() if b == book), key=lambda pair: (pair[1], pair[0]))
        assert re.search(rf"{book}: {word} \(\w+\), {count} times", done.stdout), done.stdout


def kept(folder: Path) -> pl.DataFrame:
    """What the lake holds by now."""
    table = str(folder / "out/words")
    return pl.read_delta(table) if DeltaTable.is_deltatable(table) else pl.DataFrame()


def answers(daemon: Running) -> list[str]:
    """How the calls of the Spark job stand."""
    return [call["state"] for call in daemon.get("/programs/wordcount/units/favourite_words/calls").json]
