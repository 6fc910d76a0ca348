"""Lines of separated cells under a known header into a batch: columns of text are parsed and converted at once.

Nothing is decided here about a line that is not plainly a record (one with quotes, without anything or with another
number of cells), nor about a cell that is not plainly written: these are read one by one by the reader of single
records (`fields`). So this may be as narrow as speed asks for, and is exact where it claims to be sure.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv

from ghcm import types
from ghcm.formats.zeek_log import Dialect
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, columns_of, dtype
from ghcm.runtime.formats.chunks import Chunk
from ghcm.types import Type, strip

_FLOAT = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_LONGEST = 1.9e15
"""Microseconds up to which a product of seconds with a million is off by an eighth of one at most."""
_DATE = "^[12][0-9]{3}-[01][0-9]-[0-3][0-9]$"
_CLOCK = r"[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_ISO = re.compile(rf"{_DATE[1:-1]}([T ]){_CLOCK}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})?", re.ASCII)


def has_columns(type_: Type, dialect: Dialect) -> bool:
    """Whether `typed` knows the type."""
    plain = strip(type_)
    if isinstance(plain, types.List):
        return dialect.empty is not None and isinstance(strip(plain.item), types.String)
    numbers = isinstance(plain, types.Int | types.Int32 | types.Float | types.Duration)
    times = isinstance(plain, types.Timestamp | types.Date)
    return numbers or times or isinstance(plain, types.Bool | types.String | types.Enumeration)


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of text as its type. `made` comes first, where there is one: `value` and `unsure` (None: nowhere) read
    the column that it adds, so that Polars does not do the same twice.
    """

    value: pl.Expr
    unsure: pl.Expr | None = None
    made: pl.Expr | None = None


def typed(cells: pl.Series, type_: Type, dialect: Dialect, *, made: str, escapes: bool) -> Typed:
    """What a column of text is in its type. `made`: the name of the column that may be added; `escapes`: there may be
    backslashes in the text.
    """
    raw = pl.col(cells.name)
    nullable = isinstance(type_, types.Nullable)
    text = pl.when(raw == dialect.unset).then(None).otherwise(raw) if nullable else raw
    found = _typed(made, text, cells, strip(type_), dialect, escapes=escapes)
    unsure = found.unsure
    if nullable:
        return Typed(found.value, None if unsure is None else unsure.fill_null(False), found.made)
    if isinstance(type_, types.String) and dialect.unset == "":
        return found
    missing = raw == dialect.unset
    return Typed(found.value, missing if unsure is None else missing | unsure, found.made)


def _typed(name: str, text: pl.Expr, cells: pl.Series, type_: Type, dialect: Dialect, *, escapes: bool) -> Typed:
    made = pl.col(name)
    match type_:
        case types.String():
            return _string(text, dialect, escapes=escapes)
        case types.Enumeration(values=values):
            found = _string(text, dialect, escapes=escapes)
            other = ~found.value.is_in(list(values))
            return Typed(found.value, other if found.unsure is None else other | found.unsure)
        case types.Int() | types.Int32():
            number = text.cast(pl.Int64 if isinstance(type_, types.Int) else pl.Int32, strict=False)
            return Typed(made, _no_digits(text) | (text.is_not_null() & made.is_null()), number.alias(name))
        case types.Float():
            number = text.cast(pl.Float64, strict=False).alias(name)
            return Typed(made, ~text.str.contains(_FLOAT) | ~made.is_finite(), number)
        case types.Bool():
            return Typed(text == dialect.true, ~text.is_in([dialect.true, dialect.false]))
        case types.Duration():
            return _micros_of_text(name, text, pl.Duration("us"))
        case types.Timestamp():
            return moment(name, text, cells, dialect)
        case types.Date():
            return date(name, text)
        case _:  # `has_columns` lets no other through but lists of strings
            return _strings(text, dialect, escapes=escapes)


def _no_digits(text: pl.Expr) -> pl.Expr:
    """Where the text begins with no digit, nor with a minus and a digit: Polars reads as whole numbers what begins
    with blanks or a plus, too.
    """
    return ~(((text >= "0") & (text < ":")) | ((text >= "-0") & (text < "-:")))


def _string(text: pl.Expr, dialect: Dialect, *, escapes: bool) -> Typed:
    if dialect.empty is None:
        return Typed(text)
    value = pl.when(text == dialect.empty).then(pl.lit("")).otherwise(text)
    return Typed(value, text.str.contains("\\", literal=True) if escapes else None)


def _strings(text: pl.Expr, dialect: Dialect, *, escapes: bool) -> Typed:
    """A set or vector of strings; without escapes, and without items that stand for something else."""
    parts = text.str.split(dialect.set_separator)
    value = pl.when(text == dialect.empty).then(pl.lit([], dtype=pl.List(pl.String))).otherwise(parts)
    unsure = parts.list.contains(pl.lit(dialect.unset))
    empty = (text != pl.lit(dialect.empty)) & parts.list.contains(pl.lit(dialect.empty))
    return Typed(value, unsure | empty | text.str.contains("\\", literal=True) if escapes else unsure | empty)


def date(name: str, text: pl.Expr) -> Typed:
    """The days of texts in the form of ISO 8601."""
    made = pl.col(name)
    value = text.str.to_date("%Y-%m-%d", strict=False).alias(name)
    return Typed(made, text.is_not_null() & (~text.str.contains(_DATE) | made.is_null()), value)


def micros(name: str, seconds: pl.Expr, type_: pl.DataType) -> Typed:
    """Microseconds of seconds; unsure near a half, where the product's own rounding might decide."""
    made = pl.col(name)
    unsure = ~(made.abs() < _LONGEST) | ((made - made.round()).abs() > 0.37)
    return Typed(made.round().cast(pl.Int64, strict=False).cast(type_), unsure, (seconds * 1e6).alias(name))


def _micros_of_text(name: str, text: pl.Expr, type_: pl.DataType) -> Typed:
    found = micros(name, text.cast(pl.Float64, strict=False), type_)
    assert found.unsure is not None
    return Typed(found.value, ~text.str.contains(_FLOAT) | found.unsure, found.made)


def moment(name: str, text: pl.Expr, cells: pl.Series, dialect: Dialect) -> Typed:
    """Seconds since 1970, or ISO 8601 in the form of the first cell."""
    first = next((cell for cell in cells.head(64) if cell not in (None, "", dialect.unset)), "")
    found = _ISO.fullmatch(first)
    if found is None:
        return _micros_of_text(name, text, pl.Datetime("us", "UTC"))
    between, offset = found[1], found[2] or ""
    ends = {"": "", "Z": "Z"}.get(offset, "[+-][0-9]{2}:[0-9]{2}" if ":" in offset else "[+-][0-9]{4}")
    form = f"%Y-%m-%d{between}%H:%M:%S%.f{ends if ends in ('', 'Z') else '%z'}"
    value = text.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False).alias(name)
    made = pl.col(name)
    other = ~text.str.contains(f"{_DATE[:-1]}{between}{_CLOCK}{ends}$") | made.is_null()
    return Typed(made, text.is_not_null() & other, value)


_ODD_BEGIN = b"\xef\xbb\xbf"
_EMPTY = (b"", b"\r")


@dataclass(frozen=True, slots=True)
class Block:
    """The cells of the plain lines by column of the file, and the lines (from 0) that they stand on; None: all lines.

    `single` are the lines that have to be read one by one.
    """

    columns: dict[int, pl.Series]
    height: int
    lines: list[int] | None
    single: list[int]


def read_block(
    data: bytes, count: int, separator: str, width: int, wanted: Sequence[int], *, quotes: bool
) -> Block | None:
    """The wanted columns of so many whole lines that have `width` cells each; None where that is left to others.
    `quotes`: they mean something.
    """
    if not wanted or data.startswith(_ODD_BEGIN):
        return None
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    quoted = quotes and b'"' in data
    whole = not quoted and _is_text(data)
    plain, single, data = (None, [], data) if whole else _apart(data, quoted=quoted)
    if plain is not None and len(plain) < len(single):
        return None
    ragged: list[int] = []
    table = _parse(data, separator, width, wanted, ragged)
    if whole and table.num_rows + len(ragged) < count:  # there are empty lines, of which Arrow does not tell
        plain, single, data = _apart(data, quoted=quoted)
        if len(plain) < len(single):
            return None
        ragged = []
        table = _parse(data, separator, width, wanted, ragged)
    if table.num_rows + len(ragged) + len(single) != count:
        return None
    if ragged:
        numbers = plain if plain is not None else range(table.num_rows + len(ragged))
        wrong = set(ragged)
        single = sorted([*single, *(numbers[index] for index in ragged)])
        plain = [number for index, number in enumerate(numbers) if index not in wrong]
    columns = {index: pl.Series(str(index), table.column(str(index))) for index in wanted}
    return Block(columns, table.num_rows, plain, single)


def _apart(data: bytes, *, quoted: bool) -> tuple[list[int], list[int], bytes]:
    """The numbers (from 0) of the plain lines and of those that have to be read one by one, and the plain ones."""
    lines = data.removesuffix(b"\n").split(b"\n")
    odd = {
        number for number, line in enumerate(lines) if line in _EMPTY or (quoted and b'"' in line) or not _is_text(line)
    }
    plain = [number for number in range(len(lines)) if number not in odd]
    return plain, sorted(odd), b"\n".join([lines[number] for number in plain]) + b"\n"


def _is_text(data: bytes) -> bool:
    """Whether it is UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parse(data: bytes, separator: str, width: int, wanted: Sequence[int], ragged: list[int]) -> pa.Table:
    """The table of the lines that have as many cells as they should; the numbers (from 0) of the others are noted."""

    def note(row: Any) -> str:
        ragged.append(row.number - 1)
        return "skip"

    names = [str(index) for index in range(width)]
    chosen = [str(index) for index in wanted]
    arrow: Any = arrow_csv
    table: pa.Table = arrow.read_csv(
        pa.BufferReader(data),
        arrow.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
        arrow.ParseOptions(delimiter=separator, quote_char=False, invalid_row_handler=note),
        arrow.ConvertOptions(
            include_columns=chosen,
            column_types=dict.fromkeys(chosen, pa.string()),
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    return table


COLUMNAR_FROM = 64
"""Lines from which parsing at once pays."""

LINE, UNSURE = "@line", "@unsure"


class CellColumns:
    """Decodes blocks of lines by the indices of the fields in the header."""

    def __init__(
        self,
        schema: types.Struct,
        separator: str,
        width: int,
        indices: Sequence[int | None],
        dialect: Dialect,
        *,
        quotes: bool,
    ) -> None:
        self._schema = schema
        self._separator = separator
        self._width = width
        self._indices = indices
        self._dialect = dialect
        self._quotes = quotes
        self._wanted = sorted({index for index in indices if index is not None})
        self._able = bool(self._wanted) and all(
            index is None or has_columns(field.type, dialect)
            for field, index in zip(schema.fields, indices, strict=True)
        )

    def decode(self, chunk: Chunk, count: int, single: Callable[[bytes, int], Row | None]) -> Batch | None:
        """The records of so many whole lines. `single` reads one line of this number (None: a dead letter) and raises
        `LookupError` where the line is none by itself; then, and where columns are of no use, None is given and nothing
        was read."""
        if not self._able or count < COLUMNAR_FROM:
            return None
        block = read_block(chunk.data, count, self._separator, self._width, self._wanted, quotes=self._quotes)
        if block is None:
            return None
        frame = self._typed(block, escapes=b"\\" in chunk.data)
        unsure = frame[UNSURE]
        if not block.single and not unsure.any():
            return Batch.from_frame(self._schema, frame, partition=chunk.partition)
        lines = chunk.data.split(b"\n")
        numbers = [*block.single, *frame[LINE].filter(unsure).to_list()]
        try:
            read = [(number, single(lines[number], chunk.number + number)) for number in sorted(numbers)]
        except LookupError:
            return None
        rows = [(*row, number) for number, row in read if row is not None]
        return Batch.from_frame(
            self._schema, merged(self._schema, frame.filter(~unsure), rows), partition=chunk.partition
        )

    def _typed(self, block: Block, *, escapes: bool) -> pl.DataFrame:
        source = pl.DataFrame([block.columns[index] for index in self._wanted])
        columns: dict[str, Typed] = {}
        for field, index in zip(self._schema.fields, self._indices, strict=True):
            columns[field.name] = (
                Typed(pl.lit(None, dtype=dtype(field.type)))
                if index is None
                else typed(block.columns[index], field.type, self._dialect, made=f"@made-{field.name}", escapes=escapes)
            )
        tag = columns[self._schema.fields[0].name].value
        for name, tags in self._schema.cases:  # a union has the fields of the record that its tag names
            own, found = tag.is_in(list(tags)).fill_null(False), columns[name]
            unsure = None if found.unsure is None else own & found.unsure
            columns[name] = Typed(pl.when(own).then(found.value), unsure, found.made)
        made = [each.made for each in columns.values() if each.made is not None]
        doubts = [each.unsure for each in columns.values() if each.unsure is not None]
        doubt = pl.any_horizontal(doubts) if doubts else pl.lit(False)
        for text, name, _ in self._schema.needs:
            doubt = doubt | ((tag == text) & columns[name].value.is_null()).fill_null(False)
        values = [each.value.alias(name) for name, each in columns.items()]
        frame = source.with_columns(made).select(*values, doubt.alias(UNSURE))
        numbers = pl.Series(LINE, block.lines, dtype=pl.Int64) if block.lines is not None else None
        return frame.with_columns(
            pl.int_range(block.height, dtype=pl.Int64).alias(LINE) if numbers is None else numbers
        )


def merged(schema: types.Struct, frame: pl.DataFrame, rows: list[Row]) -> pl.DataFrame:
    """The records of a frame and others, each with the number of its line behind it, in the order of these."""
    names = [*schema.names, LINE]
    columns = [*((field.name, field.type) for field in schema.fields), (LINE, types.Int())]
    return pl.concat([frame.select(names), columns_of(rows, columns)]).sort(LINE)
