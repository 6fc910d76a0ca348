"""Zeek connection logs for the benchmark of the live unit: real ones repeated over new hosts, and shortened in time.

The logs of four days are laid over one another, squeezed into one hour and repeated, each copy with hosts of its own
and a shift of some milliseconds. Lines stand in the order in which Zeek writes them: by the ends of connections.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

__all__ = ["ORIGINALS", "as_json", "as_zeek", "last_of", "records", "replicated"]

ORIGINALS = Path(__file__).parents[2] / "shared" / "data" / "flows_labelled_stratosphere" / "zeek_originals"
_SHORTENED = 24.0
_BEGIN = 1_655_000_000.0
_HEAD = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n#fields\t{}\n"


def replicated(originals: Path, copies: int) -> pl.DataFrame:
    """The records of all `conn` logs with headers in a folder, so many times, as columns of text in written order.

    SystemExit where the folder holds none.
    """
    logs = [log for path in sorted(originals.glob("*conn*")) if (log := _read(path)) is not None]
    if not logs:
        raise SystemExit(f'there is no conn log with a line "#fields" in "{originals}"')
    names = [name for name in logs[0].columns if all(name in log.columns for log in logs)]
    one = pl.concat([log.select(names) for log in logs])
    return (
        pl.concat([_copy(one, number) for number in range(copies)])
        .sort("@written", maintain_order=True)
        .drop("@written")
    )


def last_of(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows and one more, so late that all windows of the others close."""
    last = flows.tail(1).with_columns(pl.lit(f"{_BEGIN + 90_000:.6f}").alias("ts"))
    return pl.concat([flows, last])


def as_zeek(flows: pl.DataFrame, path: Path) -> None:
    """Write a log with headers."""
    with path.open("wb") as file:
        file.write(_HEAD.format("\t".join(flows.columns)).encode())
        flows.write_csv(file, separator="\t", include_header=False, quote_style="never")


def _read(path: Path) -> pl.DataFrame | None:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = data.split(b"\n")
    names = next((line.decode().split("\t")[1:] for line in lines if line.startswith(b"#fields\t")), None)
    if names is None:
        return None
    body = b"\n".join(line for line in lines if line and not line.startswith(b"#"))
    frame = pl.read_csv(
        io.BytesIO(body), has_header=False, new_columns=names, separator="\t", quote_char=None, infer_schema=False
    )
    time, duration = pl.col("ts").cast(pl.Float64), pl.col("duration").cast(pl.Float64, strict=False)
    begin = (time - time.min()) / _SHORTENED + _BEGIN
    lasts = duration / _SHORTENED
    return frame.with_columns(begin.alias("@begin"), lasts.alias("@lasts")).with_columns(
        (pl.col("@begin") + pl.col("@lasts").fill_null(0)).alias("@written")
    )


def _copy(one: pl.DataFrame, number: int) -> pl.DataFrame:
    """Hosts get another first octet (IPv4) or last group (IPv6), and identifiers another end."""
    shift = number * 0.0371
    return one.with_columns(
        *[_host(name, number) for name in ("id.orig_h", "id.resp_h")],
        _seconds(pl.col("@begin") + shift).alias("ts"),
        _seconds(pl.col("@lasts")).fill_null("-").alias("duration"),
        pl.format("{}{}", "uid", pl.lit(f"{number:03}")).alias("uid"),
        pl.col("@written") + shift,
    ).drop("@begin", "@lasts")


def _seconds(time: pl.Expr) -> pl.Expr:
    """Seconds with six decimals."""
    micros = (time * 1e6).round().cast(pl.Int64)
    return pl.format("{}.{}", micros // 1_000_000, (micros % 1_000_000).cast(pl.String).str.zfill(6))


def _host(name: str, number: int) -> pl.Expr:
    host = pl.col(name)
    first = host.str.extract(r"^(\d+)\.", 1).cast(pl.Int64)
    four = pl.format("{}.{}", (first + number * 7) % 223 + 1, host.str.replace(r"^\d+\.", ""))
    return pl.when(first.is_null()).then(pl.format("{}{}", host, pl.lit(f"{number:x}"))).otherwise(four).alias(name)


def as_json(flows: pl.DataFrame, path: Path, size: int) -> None:
    """Write objects of about `size` bytes a line, which is what a record with its payload takes."""
    with path.open("w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records(flows, size))


def records(flows: pl.DataFrame, size: int) -> Iterator[dict[str, object]]:
    """The flows as Zeek writes them in JSON, each filled up to about `size` bytes where it has fewer."""
    numbers = {"id.resp_p", "ts", "duration", "orig_bytes", "resp_bytes", "orig_pkts", "resp_pkts"}
    for row in flows.iter_rows(named=True):
        said = {name: text for name, text in row.items() if text != "-"}
        record: dict[str, object] = {
            name: (float(text) if "." in text else int(text)) if name in numbers else text
            for name, text in said.items()
        }
        if size:
            record["payload"] = ""
            record["payload"] = "GET / HTTP/1.1 " * ((size - len(json.dumps(record))) // 15)
        yield record
