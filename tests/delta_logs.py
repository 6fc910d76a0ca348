"""Delta tables as others write them: commits of their logs by hand, deletion vectors among them."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import deltalake

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def actions_in(table: Path, number: int) -> list[dict[str, Any]]:
    text = (table / "_delta_log" / f"{number:020d}.json").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def commit(table: Path, *actions: Mapping[str, Any]) -> int:
    """Add a commit to the log; its number."""
    number = len(list((table / "_delta_log").glob("*.json")))
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (table / "_delta_log" / f"{number:020d}.json").write_text(text, encoding="utf-8")
    return number


def delete_rows(table: Path, rows: Sequence[int]) -> int:
    """Delete rows of the only file of a table by a deletion vector."""
    [add] = [action["add"] for number in range(100) for action in _there(table, number) if "add" in action]
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    vector = _vector(rows)
    return commit(
        table,
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": remove},
        {"add": {**add, "deletionVector": vector}},
    )


def _there(table: Path, number: int) -> list[dict[str, Any]]:
    return actions_in(table, number) if (table / "_delta_log" / f"{number:020d}.json").exists() else []


def _vector(rows: Sequence[int]) -> dict[str, Any]:
    """An inline deletion vector of rows below 65,536: one Roaring bitmap, in Z85."""
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16) + struct.pack(f"<{len(rows)}H", *rows)
    data = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    padded = data.ljust((len(data) + 3) // 4 * 4, b"\0")
    text = "".join(_z85(padded[at : at + 4]) for at in range(0, len(padded), 4))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(rows)}


def _z85(part: bytes) -> str:
    number, digits = int.from_bytes(part, "big"), ""
    for _ in range(5):
        number, rest = divmod(number, 85)
        digits = _DIGITS[rest] + digits
    return digits


def forget(table: Path, before: int) -> None:
    """Clean the log up to a commit, as tools do that no longer need what is older."""
    deltalake.DeltaTable(str(table)).create_checkpoint()
    for number in range(before):
        (table / "_delta_log" / f"{number:020d}.json").unlink(missing_ok=True)
