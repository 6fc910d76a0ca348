"""SQL as text: names, constants and the forms of numbers, for whoever writes an expression of Spark's.

It needs nothing but the standard library: the compiler writes the expressions of a job with it, and the job those of
its decoders.
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from decimal import Decimal

WHOLE_NUMBER = r"\A[+-]?[0-9]+\z"
REAL_NUMBER = r"\A([+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|nan|-?inf)\z"
EXACT_NUMBER = r"\A[+-]?[0-9]+([.][0-9]+)?\z"

_WORDS = """
    all and anti any array as asc at authorization between both by case cast check collate column constraint create
    cross current current_date current_time current_timestamp current_user date desc distinct div drop else end escape
    except exists extract false fetch filter first for foreign from full function grant group grouping having if ilike
    in inner insert intersect interval into is join last lateral leading left like limit localtime localtimestamp map
    minus natural no not null of offset on only or order outer over overlaps overlay partition position primary
    references regexp right rlike row rows select semi session_user set some sort start struct substring table
    tablesample then time timestamp to trailing trim true union unique unknown user using values variant when where
    window with within
"""
_KEYWORDS = frozenset(_WORDS.split())
"""Words that stand between backquotes where they are names: those that Spark reserves, or reads as more than a name."""

_PATH = re.compile(r"(?:\w+|`(?:[^`]|``)+`)(?:\.(?:\w+|`(?:[^`]|``)+`))*", re.ASCII)


def quoted(name: str) -> str:
    """A name as Spark parses it, between backquotes where it has to be.

    >>> quoted("book"), quoted("end"), quoted("@time")
    ('book', '`end`', '`@time`')
    """
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None and name.lower() not in _KEYWORDS
    return name if plain else "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A text as SQL writes it; where nobody forbids it, Spark would replace `${...}` by a setting."""
    plain = value.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + re.sub(r"[\x00-\x1f$]", lambda char: f"\\u{ord(char[0]):04x}", plain) + "'"


def constant(value: object) -> str:
    """A constant in SQL; whole numbers have 64 bits."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}L"
        case float():
            return f"{value!r}D" if math.isfinite(value) else f"double('{value}')"
        case bytes():
            return f"X'{value.hex()}'"
        case Decimal():
            return f"decimal('{value}')"
        case _:  # a text, or the value of an enum
            return text(str(value))


def named(value: str, name: str) -> str:
    """An expression as a column of that name."""
    return quoted(name) if value == quoted(name) else f"{bare(value)} AS {quoted(name)}"


def part(of: str, name: str) -> str:
    """A field of a struct; null of null."""
    return f"{of}.{quoted(name)}" if is_path(of) else f"({of}).{quoted(name)}"


def is_path(value: str) -> bool:
    """Whether it is a column or a field in one."""
    return _PATH.fullmatch(value) is not None


class _Case(str):
    """A `CASE` as a whole, to which further conditions can be put in front."""


def when(condition: str, value: str, otherwise: str = "NULL") -> str:
    """The value where the condition is true."""
    rest = " END" if otherwise == "NULL" else f" ELSE {bare(otherwise)} END"
    rest = otherwise.removeprefix("CASE") if isinstance(otherwise, _Case) else rest
    return _Case(f"CASE WHEN {bare(condition)} THEN {bare(value)}{rest}")


def stands_alone(value: str) -> bool:
    """Whether it is a call or a `CASE` as a whole, which means the same wherever its text stands.

    >>> stands_alone("f(a, ')')"), stands_alone("f(a) + (b)")
    (True, False)
    """
    called = re.match(r"\w+(?=\()", value, re.ASCII)
    return isinstance(value, _Case) or (called is not None and bare(value[called.end() :]) != value[called.end() :])


def bare(value: str) -> str:
    """SQL without brackets around the whole of it.

    >>> bare("(a = ')')"), bare("(a) = (b)")
    ("a = ')'", '(a) = (b)')
    """
    if not (value.startswith("(") and value.endswith(")")):
        return value
    depth = 0
    for found in _BRACKETS.finditer(value):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0 and found.end() < len(value) and found[0] == ")":
            return value
    return value[1:-1]


_BRACKETS = re.compile(r"""[()]|'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`""", re.DOTALL)


class Failing(_Case):
    """The error for records where a condition is true, by itself: what it says is the same for all of them."""

    condition: str
    says: str


def fails(condition: str, reason: str, detail: str) -> str:
    """The error for records where the condition is true: `reason: detail`."""
    return failing(condition, text(f"{reason}: {detail}"))


def failing(condition: str, says: str) -> str:
    """An error that says the same wherever the condition is true."""
    error = Failing(when(condition, says))
    error.condition, error.says = condition, says
    return error


def first(*errors: str | None) -> str | None:
    """The first error that there is."""
    found = [error for error in errors if error is not None]
    return f"coalesce({', '.join(found)})" if len(found) > 1 else found[0] if found else None


def bound(value: str, name: str, body: str) -> str:
    """SQL in which a name stands for a value."""
    return f"get(transform(array({value}), {name} -> {body}), 0)"


def matching(value: str, pattern: str) -> str:
    """Whether a pattern is found in a text."""
    return f"regexp_like({value}, {text(pattern)})"


def is_member(value: str, values: Sequence[str]) -> str:
    """Whether a text is a value of an enum."""
    return f"{value} IN ({', '.join(map(text, values))})"


# --- numbers and moments as texts ------------------------------------------------------------------------------------

MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"


def moment_sql(value: str) -> str:
    """A timestamp as text."""
    return f"date_format({value}, {text(MOMENT)})"


def parsed_float(value: str) -> str:
    """The number in a text of the form of one."""
    special = " ".join(f"WHEN '{each}' THEN double('{each}')" for each in ("nan", "inf", "-inf"))
    return f"CASE {value} {special} ELSE try_cast({value} AS double) END"


def decimal_text(value: str, scale: int) -> str:
    """A decimal as text; Spark writes long ones with an exponent."""
    return f"string({value})" if scale <= 6 else f"replace(format_number({value}, {scale}), ',', '')"


def decimal_parts(value: str, precision: int, scale: int) -> tuple[str, str, str]:
    """The decimal in a text that has the form of one, whether digits would be lost, and whether too many stand ahead.

    Zeros ahead and behind are cut first: Spark reads no more than 38 digits.
    """
    lost = matching(value, f"[.][0-9]{{{scale}}}[0-9]*[1-9]")
    wide = matching(value, rf"\A[+-]?0*[1-9][0-9]{{{precision - scale}}}")
    kept = f"([.][0-9]{{1,{scale}}})?" if scale else ""
    form = r"\A([+-]?)0*([0-9]+" + kept + r")[.]?0*\z"
    digits = f"regexp_replace({value}, {text(form)}, {text('$1$2')})"
    return f"try_cast({digits} AS decimal({precision},{scale}))", lost, wide


_numbers: ContextVar[Iterator[int]] = ContextVar("_numbers", default=itertools.count())  # noqa: B039  (one counter for all that set none)


def name_anew() -> None:
    """Have names of parameters begin anew for a run, in which they are then the same each time: they stand in the code
    that Spark makes of a plan, and compiles where it does not know it.
    """
    _numbers.set(itertools.count())


def variable() -> str:
    """A name for the parameter of a SQL lambda that no other has in this run."""
    return f"x{next(_numbers.get())}"
