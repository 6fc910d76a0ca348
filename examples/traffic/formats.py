"""Tells by what is in a file which source of the traffic monitor reads it."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ghcm.errors import GhcmError

__all__ = ["Recognised", "recognise"]

SEEN_BYTES = 256 << 10
MAGIC = {b"\x1f\x8b": ("gzip", ".gz"), b"\x28\xb5\x2f\xfd": ("zstd", ".zst")}

ZEEK = ("ts", "id.orig_h", "id.resp_h", "id.resp_p", "proto", "conn_state")
ARGUS = (*("StartTime", "Dur", "Proto", "SrcAddr", "DstAddr"), *("TotPkts", "TotBytes", "SrcBytes"))
SURICATA = ("timestamp", "event_type")
TAKEN = "what can be read: a conn.log of Zeek (TSV or JSON lines), flows of Argus as CSV, an eve.json of Suricata."
RA = "write it with: ra -u -c , -s stime dur proto saddr sport dir daddr dport state pkts bytes sbytes"


@dataclass(frozen=True, slots=True)
class Recognised:
    """`source` is the folder of `in/` whose files are such; `name` what the file may be called there, with the ending
    that its packing asks for; `what` says it to people.
    """

    source: str
    name: str
    what: str


def recognise(path: Path) -> Recognised:
    """What a file is, by its first lines, packed or not, whatever it is called. GhcmError where it is none of ours."""
    data, packing, ending = first_bytes(path)
    source, name, what = of_text(path, data.decode("utf-8-sig", errors="replace"))
    return Recognised(source, name + ending, f"{what}, packed with {packing}" if packing else what)


def first_bytes(path: Path) -> tuple[bytes, str, str]:
    """The beginning of a file, unpacked; how it is packed, and how the name of such a file ends."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
        packing, ending = next((known for magic, known in MAGIC.items() if head.startswith(magic)), ("", ""))
        if packing == "gzip":
            with gzip.open(path) as unpacked:
                return unpacked.read(SEEN_BYTES), packing, ending
        with pa.input_stream(str(path), compression=packing or None) as stream:
            return stream.read(SEEN_BYTES), packing, ending
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise GhcmError(f'cannot read "{path}": {reason}', code="GHCM-722") from error


def of_text(path: Path, text: str) -> tuple[str, str, str]:
    """Source, name and words for a file that begins like this."""
    lines = [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    if not lines:
        raise unknown(path, "it is empty")
    if lines[0].startswith("#"):
        return of_zeek(path, lines)
    if lines[0].startswith("{"):
        return of_json(path, lines[0])
    header = [cell.strip().strip('"') for cell in lines[0].split(",")]
    if "SrcAddr" in header or "StartTime" in header:
        needs(path, "flows of Argus", ARGUS, header, RA)
        return "argus", "flows.csv", "flows of Argus, CSV"
    raise unknown(path, "its first line is of no known form", f"It begins with {shown(lines[0])}.")


def of_zeek(path: Path, lines: list[str]) -> tuple[str, str, str]:
    headers = dict(line.split("\t", 1) for line in lines if line.startswith("#") and "\t" in line)
    if "#fields" not in headers:
        raise unknown(path, "it begins with # and is no log of Zeek", "A line #fields is missing.")
    kind = headers.get("#path", "conn").strip()
    if kind != "conn":
        raise unknown(path, f'it is a log of Zeek, but of "{kind}" and not of connections')
    needs(path, "a conn.log of Zeek", ZEEK, headers["#fields"].split("\t"))
    return "zeek", "conn.log", "a conn.log of Zeek, TSV"


def of_json(path: Path, line: str) -> tuple[str, str, str]:
    try:
        record: Any = json.loads(line)
    except ValueError:
        raise unknown(path, "its first line is not whole as JSON", f"It begins with {shown(line)}.") from None
    if "event_type" in record:
        needs(path, "an eve.json of Suricata", SURICATA, record)
        return "suricata", "eve.json", "an eve.json of Suricata"
    inner = record.get("id")
    names = [*record, *(f"id.{name}" for name in inner)] if isinstance(inner, dict) else list(record)
    if "id.orig_h" not in names:
        raise unknown(path, "its lines are JSON, but of no known kind", f"The first has {listed(names[:12])}.")
    needs(path, "connections of Zeek", ZEEK, names)
    return "json", "conn.json", "a conn.log of Zeek, JSON lines"


def needs(path: Path, what: str, needed: Iterable[str], found: Iterable[str], hint: str = TAKEN) -> None:
    """GhcmError where something is missing that the monitor reads."""
    missing = set(needed) - set(found)
    if missing:
        names = listed(name for name in needed if name in missing)
        raise GhcmError(f'cannot read "{path}" as {what}: it lacks {names}', code="GHCM-729", hint=hint)


def unknown(path: Path, why: str, detail: str = "") -> GhcmError:
    return GhcmError(f'cannot tell what "{path}" is: {why}', code="GHCM-729", detail=detail, hint=TAKEN)


def listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def shown(line: str) -> str:
    """The beginning of a line, as a terminal may show it."""
    return repr(line if len(line) <= 60 else line[:60] + "…")
