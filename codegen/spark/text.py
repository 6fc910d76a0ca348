"""Values and names as a job writes them, in plain Python, and SQL as its texts."""

import keyword
import math
import re
from collections.abc import Mapping
from typing import cast

from ghcm.codegen.spark.packing import library_names


def quote(text: str) -> str:
    """A text as Python writes it, in double quotes where that needs no escape."""
    plain = repr(text)
    return plain if '"' in text or plain[0] == '"' else f'"{plain[1:-1]}"'


def sql_text(sql: str) -> str:
    """SQL as a text of Python; where it has parameters of the unit, an f-string.

    >>> print(sql_text("a < \\0limit\\0"), sql_text(r"regexp_like(a, '\\\\d')"))
    f"a < {limit}" r"regexp_like(a, '\\\\d')"
    """
    prefix, raw = "", "\\" in sql and '"' not in sql and not sql.endswith("\\")
    if "\0" in sql:
        pieces = sql.replace("{", "{{").replace("}", "}}").split("\0")
        sql = "".join(f"{{{local_name(piece)}}}" if index % 2 else piece for index, piece in enumerate(pieces))
        prefix = "f"
    if raw and sql.isprintable():
        return f'r{prefix}"{sql}"'
    plain = sql.replace("\\", "\\\\").replace('"', '\\"')
    return f'{prefix}"{"".join(char if char.isprintable() else repr(char)[1:-1] for char in plain)}"'


def selected(rows: str, *columns: str) -> str:
    """The call that makes these columns of rows."""
    return f"{rows}.selectExpr({', '.join(map(sql_text, columns))})"


def also(sql: str | None, name: str = "") -> str:
    """A further argument, perhaps with its name, where there is any such SQL."""
    return "" if sql is None else f", {name}{sql_text(sql)}"


_TAKEN = frozenset({"job", "rows", "step", "state", "known"})


def local_name(parameter: str) -> str:
    """The variable of a job that holds a parameter of the unit."""
    name = re.sub(r"\W", "_", parameter, flags=re.ASCII)
    taken = name in _TAKEN or name in library_names() or name.startswith("rows_") or name.isupper()
    return f"{name}_" if taken or keyword.iskeyword(name) else f"_{name}" if name[:1].isdigit() else name


def sql_dict(texts: Mapping[str, str]) -> str:
    """SQL by name as a mapping of Python."""
    return "{" + ", ".join(f"{quote(name)}: {sql_text(sql)}" for name, sql in texts.items()) + "}"


def python_text(value: object) -> str:
    """A canonical value as Python writes it.

    >>> python_text((1, [None, "a"], float("inf")))
    '(1, [None, "a"], float("inf"))'
    """
    match value:
        case float() if not math.isfinite(value):
            return f'float("{value!r}")'
        case str():
            return quote(value)
        case tuple():
            items = [python_text(each) for each in cast("tuple[object, ...]", value)]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        case list():
            return f"[{', '.join(python_text(each) for each in cast('list[object]', value))}]"
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return f"{{{', '.join(f'{python_text(k)}: {python_text(v)}' for k, v in pairs)}}}"
        case _:
            return repr(value)


def constant_name(name: str) -> str:
    """A name for a constant.

    >>> constant_name("FlowCount")
    'FLOW_COUNT'
    """
    return identifier(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).upper()


def identifier(name: str) -> str:
    """A name that Python takes, made from one that it may not take.

    >>> identifier("flows.filter-2")
    'flows_filter_2'
    """
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    return word if word and not word[0].isdigit() else f"_{word}"
