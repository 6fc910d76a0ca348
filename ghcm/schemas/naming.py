"""Names of others into names of the language: fields and records.

>>> field_name("id.orig_h"), field_name("1st"), field_name("in"), record_name("wiki-edits_2015")
('id_orig_h', 'field_1st', 'in_', 'WikiEdits')
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Container, Iterable

_WORDS = ("if", "then", "else", "match", "let", "in", "is", "not", "and", "or", "null", "true", "false")
_TAKEN = (
    "Annotated",
    "Cache",
    "Decimal",
    "Digits",
    "Line",
    "Pipeline",
    "Program",
    "Record",
    "Sink",
    "Unit",
    "Window",
)
_PLAIN = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")


def field_name(name: str) -> str:
    """A name that both front ends take, the same where they take it as it is."""
    made = re.sub(r"[^A-Za-z0-9_]+", "_", name)
    if made != name:
        made = made.strip("_")
    if not _PLAIN.fullmatch(made):
        made = f"field_{made.lstrip('_')}".rstrip("_")
    return f"{made}_" if made in _WORDS or keyword.iskeyword(made) else made


def record_name(name: str) -> str:
    """A name in capitals for a record; words that are only digits are left out."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if re.search("[A-Za-z]", word)]
    made = "".join(word[0].upper() + word[1:] for word in words).lstrip("0123456789")
    made = (made[:1].upper() + made[1:]) or "Row"
    return f"{made}Row" if made in _TAKEN or keyword.iskeyword(made) else made


def distinct(names: Iterable[str], taken: Container[str] = ()) -> list[str]:
    """The names, of which those that come again, or are taken, have numbers.

    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a_2']
    """
    given: list[str] = []
    for name in names:
        made, number = name, 1
        while made in given or made in taken:
            number += 1
            made = f"{name}_{number}"
        given.append(made)
    return given
