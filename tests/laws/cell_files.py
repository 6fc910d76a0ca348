"""Generated files of cells, CSV and Zeek's logs, full of what is nearly a value of its type."""

from __future__ import annotations

from hypothesis import strategies as st

from ghcm.spg.connectors import Format
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Duration,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
)

__all__ = ["FORMATS", "cell_files", "head"]

FORMATS = (Format("csv"), Format("csv", "\t"), Format("csv", ";"), Format("csv", keeps_empty=True), Format("zeek"))
TYPES: tuple[Type, ...] = (
    Int(), Int32(), Float(), String(), Bool(), Timestamp(), Duration(), Date(), List(String()),
    List(Nullable(Int())), Bytes(),
    Enumeration(("a", "1", "ü😀", "a\tb", "\\", "")), Enumeration(("T", "F", "true", "-")),
    List(Enumeration(("a", "b", "1"))),
)  # fmt: skip
TEXTS = (
    "", "-", "(empty)", "1", "-7", "+3", "007", "9223372036854775807", "9223372036854775808", "2147483648", "1e3", "1.",
    ".5", "1_0", " 1", "nan", "inf", "-inf", "1e999", "-0", "0.1", "1655071198.444458", "1.0000005", "2.0000015",
    "99999999999.123456", "-1.5", "true", "TRUE", "false", "T", "F", "2026-01-02", "2026-02-30", "0000-01-01",
    "2026-01-02T03:04:05.123456+0000", "2026-01-02T03:04:05.1234567+0130", "2026-01-02T03:04:05Z",
    "2026-01-02 03:04:05", "2026-01-02T25:04:05Z", "2026-01-02T03:04:60Z", "a", "ü😀",
    "a\\x09b", "\\\\x41", "\\xff", "\\xc3\\xbc",
    "a,b", "a,-,b", "-,1",  "x,(empty)", '""', '"q"', '"a ""b"" c"', 'a"b', "#x", "1,2", "\\", "[1,null]", '["a"]',
    "YQ==",
    "١", "x" * 40,
)  # fmt: skip
ODD_LINES = (b"", b"\xff\xfe", b'"', b"x", b"\r", b"a\rb", b"#close\t2026")


@st.composite
def cell_files(draw: st.DrawFn, counts: tuple[int, ...] = (3, 100, 300)) -> tuple[Format, Struct, bytes]:
    """A format, a record, and a file that holds some, among other things."""
    format_ = draw(st.sampled_from(FORMATS))
    separator = "\t" if format_.name == "zeek" else format_.separator
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
    types = [Nullable(type_) if draw(st.booleans()) else type_ for type_ in types]
    schema = Struct(tuple(Field(f"f{number}", type_, f"c.{number}") for number, type_ in enumerate(types)))
    names = draw(st.permutations([f"c.{number}" for number in range(len(types))] + ["other"]))
    fields = {
        f"c.{number}": draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3)) for number in range(len(types))
    }
    plain = {name: [text for text in texts if separator not in text] or ["1"] for name, texts in fields.items()}
    count = draw(st.sampled_from(counts))
    rows = [
        separator.join(plain.get(name, ["x"])[row % len(plain.get(name, "x"))] for name in names)
        for row in range(count)
    ]
    lines = [row.encode() for row in rows]
    for odd in draw(st.lists(st.sampled_from(ODD_LINES), max_size=3)):
        lines.insert(draw(st.integers(0, len(lines))), odd)
    ends = draw(st.sampled_from([b"\n", b"\r\n"]))
    return format_, schema, head(format_, separator, names) + ends.join(lines) + draw(st.sampled_from([b"", ends]))


def head(format_: Format, separator: str, names: list[str]) -> bytes:
    """The header of a file of these columns."""
    if format_.name != "zeek":
        return f"{separator.join(names)}\n".encode()
    return (
        b"#separator \\x09\n#set_separator\t,\n#unset_field\t-\n"
        + "\t".join(["#fields", *names, "\n"])[:-2].encode()
        + b"\n"
    )
