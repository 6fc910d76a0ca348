"""Which lines of CSV and of Zeek's logs are plainly records, so that Spark's own parser reads them as the exact reader
would; as `plain_json`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import types as T

from ghcm.codegen.spark.library.files.plain_json import (
    BASE64,
    CLOCK,
    DAY,
    Form,
    Unsuited,
    failed,
    micros_of,
    moment_of,
    never,
    plainly,
    same,
)
from ghcm.codegen.spark.library.lines import WITHOUT_RETURN
from ghcm.codegen.spark.library.sql import is_member, named, quoted, text, when
from ghcm.codegen.spark.library.types import EnumType, columns_of
from ghcm.formats.zeek_log import Dialect

_ODD = "".join(rf"\x{number:02x}" for number in range(32) if number != ord("\t"))
"""Control characters but for tabs."""
_INT, _INT32 = "[+-]?+[0-9]{1,18}+", "[+-]?+[0-9]{1,9}+"
_FLOAT = rf"{_INT}(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]{{1,2}}+)?+"


@dataclass(frozen=True, slots=True)
class Layout:
    """How the cells of lines are written: the separator, where the fields of the record stand among so many columns
    (None: nowhere), and what cells say. `own`: a sink has written them. `keeps_empty`: quotes around nothing are an
    empty text, of which Spark's parser does not tell, so that a line with two quotes is not plain. `bare`: lines with
    quotes are so few that the exact reader has them.
    """

    separator: str
    width: int
    indices: tuple[int | None, ...]
    dialect: Dialect = Dialect()
    quotes: bool = True
    own: bool = False
    keeps_empty: bool = False
    bare: bool = False

    @property
    def split(self) -> bool:
        """Whether plain lines are cut at each separator, in half the time of Spark's parser."""
        return self.bare or not self.quotes


@dataclass(frozen=True, slots=True)
class PlainCells:
    """How Spark finds the cells (`@cells`) of lines that are plainly records, column by column, each of those before;
    the columns of these, and whether they are in doubt after all (of `@cells` and the columns).
    """

    found: tuple[str, ...]
    columns: tuple[str, ...]
    doubt: str


def plain_cells(element: T.DataType, layout: Layout) -> PlainCells | None:
    """How Spark reads lines of cells; None where only the exact reader can tell."""
    fields = columns_of(element).fields
    if not layout.separator.isascii() or len(layout.separator) != 1 or layout.dialect.empty == layout.dialect.unset:
        return None
    try:
        forms = [_form(each.dataType, layout) for each in fields]
    except Unsuited:
        return None
    cells = [_text(layout)] * layout.width
    types: list[T.DataType] = [T.StringType()] * layout.width
    for field, index, form in zip(fields, layout.indices, forms, strict=True):
        if index is None:
            continue
        if cells[index] != _text(layout):  # two fields of one column
            return None
        cells[index] = _cell(field, form, layout)
        types[index] = form.parsed
    parsed = ["NULL" if index is None else _parsed(layout, index, types[index]) for index in layout.indices]
    columns = list[str]()
    unfit = f"size(`@cells`) != {layout.width}" if layout.split else "`@cells`.`@no` IS NOT NULL"
    doubts = [f"`@cells` IS NULL OR {unfit}"]
    tag, of_tag = fields[0], parsed[0]
    for field, index, form, found in zip(fields, layout.indices, forms, parsed, strict=True):
        has = "" if "of" not in field.metadata else is_member(of_tag, field.metadata["of"])
        value = "NULL" if index is None else _value(field, form, found, layout)
        columns.append(named(when(has, value) if has else value, field.name))
        doubts += [] if index is None else [_doubt(field, form, found, has, layout)]
        doubts += [
            f"({quoted(tag.name)} = {text(name)} AND {quoted(field.name)} IS NULL)"
            for name in field.metadata.get("needs", {})
        ]
    found_ = when(plainly("`@text`", _line(cells, layout)), _split(layout) if layout.split else _parse(types, layout))
    return PlainCells((named(found_, "@cells"),), tuple(columns), " OR ".join(filter(None, doubts)))


def _parsed(layout: Layout, index: int, type_: T.DataType) -> str:
    """A cell of a plain line, null where that stands for null."""
    if not layout.split:
        return f"`@cells`.c{index}"
    cell = f"nullif(`@cells`[{index}], {text(layout.dialect.unset)})"
    return cell if type_ == T.StringType() else f"CAST({cell} AS {type_.simpleString()})"


def _split(layout: Layout) -> str:
    """The cells of `@text`. For a letter, or any other character behind a backslash, Java needs no pattern."""
    separator = layout.separator if layout.separator.isalnum() else "\\" + layout.separator
    return f"split({WITHOUT_RETURN}, {text(separator)})"


def _parse(types: Sequence[T.DataType], layout: Layout) -> str:
    """What Spark's parser finds in `@text`; its field `@no` is not null where something does not fit."""
    schema = ", ".join([*(f"c{index} {type_.simpleString()}" for index, type_ in enumerate(types)), "`@no` string"])
    options = {
        "sep": layout.separator,
        "quote": '"' if layout.quotes else "",
        "escape": '"' if layout.quotes else "\\",
        "nullValue": layout.dialect.unset,
        "emptyValue": "",
        "columnNameOfCorruptRecord": "@no",
        "maxColumns": str(layout.width + 1),
    }
    said = ", ".join(f"{text(name)}, {text(value)}" for name, value in options.items())
    return f"from_csv({WITHOUT_RETURN}, {text(schema)}, map({said}))"


def _line(cells: Sequence[str], layout: Layout) -> str:
    begin = r'\A(?![^"]*+(?:"[^"]++)*+"")' if layout.keeps_empty and not layout.bare else r"\A"
    begin += r"(?!\r?\z)" if len(cells) == 1 else ""  # an empty line is no record
    return rf"{begin}{escaped_separator(layout.separator).join(f'(?:{cell})' for cell in cells)}\r?\z"


def escaped_separator(char: str) -> str:
    """A separator as a pattern."""
    return char if char.isalnum() else "\\" + char if char != "\t" else "\\t"


def _text(layout: Layout) -> str:
    """The pattern of a cell that may be any text."""
    separator = escaped_separator(layout.separator)
    if not layout.quotes:
        return rf"[^{separator}{_ODD}]*+"
    if layout.bare:
        return rf'[^{separator}"{_ODD}]*+'
    return rf'[^{separator}"{_ODD}]*|"[^"{_ODD}]*+(?:""[^"{_ODD}]*+)*+"'


def _cell(field: T.StructField, form: Form, layout: Layout) -> str:
    """The pattern of the cells of a field; what stands for null may be in any."""
    unset = re.escape(layout.dialect.unset)
    quoted_ = f'|"(?:{form.pattern})"' if not layout.split and form.parsed != T.StringType() else ""
    return f"{form.pattern}{quoted_}|{unset}" if field.nullable else f"{form.pattern}{quoted_}"


def _form(type_: T.DataType, layout: Layout) -> Form:
    dialect = layout.dialect
    match type_:
        case T.BooleanType() if dialect.empty is None:
            return Form("[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]", type_, same, never)
        case T.BooleanType():
            return Form("T|F", T.StringType(), lambda parsed: f"{parsed} = 'T'", never)
        case T.LongType():
            return Form(_INT, type_, same, never)
        case T.IntegerType():
            return Form(_INT32, type_, same, never)
        case T.DoubleType():
            return Form(_FLOAT, type_, same, never)
        case EnumType(values=values):
            of_text = _string(layout)
            return Form(
                of_text.pattern, of_text.parsed, of_text.value, lambda _, value: f"NOT {is_member(value, values)}"
            )
        case T.StringType():
            return _string(layout)
        case T.DateType():
            return Form(DAY, T.StringType(), lambda parsed: f"CAST({parsed} AS date)", failed)
        case T.TimestampType():
            return Form(f"{DAY}(?:[T ]{CLOCK})?+|{_FLOAT}", T.StringType(), moment_of, failed)
        case T.DayTimeIntervalType():
            return Form(_FLOAT, T.DoubleType(), micros_of, failed)
        case T.DecimalType(precision=precision, scale=scale):
            whole = f"0*+[0-9]{{1,{precision - scale}}}+" if precision > scale else "0++"
            digits = f"[+-]?+{whole}" + (rf"(?:\.[0-9]{{1,{scale}}}+)?+" if scale else "")
            cast = f"AS decimal({precision},{scale}))"
            return Form(digits, T.StringType(), lambda parsed: f"CAST({parsed} {cast}", failed)
        case T.BinaryType() if layout.own:
            return Form(BASE64, T.StringType(), lambda parsed: f"unbase64({parsed})", failed)
        case _:
            raise Unsuited


def _string(layout: Layout) -> Form:
    """Texts; of logs those without escapes, and not without letters, which Spark takes for null."""
    empty = layout.dialect.empty
    if empty is None:
        return Form(_text(layout), T.StringType(), same, never)
    pattern = rf"[^\\{escaped_separator(layout.separator)}{_ODD}]++"
    return Form(pattern, T.StringType(), lambda parsed: f"if({parsed} = {text(empty)}, '', {parsed})", never)


def _value(field: T.StructField, form: Form, parsed: str, layout: Layout) -> str:
    """The value of a cell: an empty one of CSV is null, or a text without letters."""
    if layout.dialect.unset or type(field.dataType) is not T.StringType:
        return form.value(parsed)
    return f"nullif({parsed}, '')" if field.nullable else f"coalesce({parsed}, '')"


def _doubt(field: T.StructField, form: Form, parsed: str, has: str, layout: Layout) -> str:
    inside = form.doubt(parsed, quoted(field.name))
    if field.nullable:
        doubt = f"({parsed} IS NOT NULL AND ({inside}))" if inside else ""
    elif type(field.dataType) is T.StringType and not inside:
        doubt = f"{quoted(field.name)} IS NULL"
    elif layout.split and not re.fullmatch(form.pattern, layout.dialect.unset):  # no such line is plain
        doubt = inside
    else:
        doubt = f"({parsed} IS NULL OR {inside})" if inside else f"{parsed} IS NULL"
    return f"({has} AND {doubt})" if has and doubt else doubt
