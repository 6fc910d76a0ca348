"""Text for the benchmarks: a folder of the user's, or words drawn by our own generator with the frequencies of
natural text (Zipf)."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

__all__ = ["copy_of", "generated"]


def generated(directory: Path, megabytes: int, seed: int = 1) -> Path:
    """Write `megabytes` MB of lines of about 70 characters in four files; the same for the same seed."""
    draw = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(draw.choices(letters, weights=range(26, 0, -1), k=draw.randint(1, 10))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    directory.mkdir(parents=True, exist_ok=True)
    for part in range(4):
        with (directory / f"part-{part}.txt").open("w", encoding="utf-8") as file:
            written = 0
            while written < megabytes * 250_000:
                drawn = iter(draw.choices(words, weights, k=12_000))
                block = "".join(" ".join(line) + "\n" for line in zip(*[drawn] * 12, strict=True))
                written += file.write(block)
    return directory


def copy_of(source: Path, directory: Path, times: int) -> Path:
    """Unpack the `.txt` and `.txt.gz` files of a folder, each repeated `times`, so that a small library makes a long
    run."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.txt*")):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        (directory / path.name.removesuffix(".gz")).write_bytes(text * times)
    return directory
