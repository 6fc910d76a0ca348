"""What the schemas of others share on their way into the language: names, unions, records by name, and what has no
counterpart.

>>> field_name("id.orig_h"), field_name("1st"), field_name("in"), record_name("wiki-edits_2015")
('id_orig_h', 'field_1st', 'in_', 'WikiEdits')
"""

import keyword
import re
from collections.abc import Callable, Container, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace

from ghcm.types import Enumeration, Field, List, Map, Nullable, Struct, Type, Variant, strip, union_type


class Unmapped(ValueError):
    """A type that does not map. Its text says what it is; `path` are the fields that lead to it, outermost first."""

    def __init__(self, reason: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return f'field "{".".join(self.path)}": {self.reason}' if self.path else self.reason


@contextmanager
def inside(name: str) -> Generator[None]:
    """What is found to be `Unmapped` inside is so of a field.

    >>> with inside("a"), inside("b"):
    ...     raise Unmapped("a union is no type of the language")
    Traceback (most recent call last):
    ghcm.schemas.records.Unmapped: field "a.b": a union is no type of the language
    """
    try:
        yield
    except Unmapped as error:
        raise Unmapped(error.reason, (name, *error.path)) from None


_WORDS = ("if", "then", "else", "match", "let", "in", "is", "not", "and", "or", "null", "true", "false")
_TAKEN = ("Annotated", "Cache", "Decimal", "Digits", "Line", "Pipeline", "Program", "Record", "Sink", "Unit", "Window")
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


def named(struct: Struct, name: str) -> Struct:
    """The struct as a record of that name; structs in it that have no name are named after the fields that hold them.
    Tuples stay what they are.

    Those that are alike in fields and position share a name; others of one name have the outer name before theirs.
    """
    return _named(struct, name, "", {})


def records_in(record: Struct) -> list[Struct]:
    """The records (and unions) that a named struct is made of, each once, before those that use it; itself last."""
    found: dict[str, Struct] = {}
    for each in _parts(record):
        found |= {inner.name or "": inner for inner in records_in(each)}
    return [*found.values(), record]


def _parts(record: Struct) -> list[Struct]:
    """The records of a union, and what else is in a record."""
    if record.variants:
        return [variant.record for variant in record.variants]
    return [each for field in record.fields for each in _structs(field.type)]


def within(type_: Type, change: Callable[[Struct], Type]) -> Type:
    """The type with each record that it holds changed; tuples stay what they are."""
    match type_:
        case Nullable(of=inner):
            return Nullable(within(inner, change))
        case List(item=inner):
            return List(within(inner, change))
        case Map(key=key, value=value):
            return Map(within(key, change), within(value, change))
        case Struct(fields=fields) if is_tuple(type_):
            return Struct(tuple(replace(each, type=within(each.type, change)) for each in fields))
        case Struct():
            return change(type_)
        case _:  # a type that holds no others
            return type_


def _structs(type_: Type) -> list[Struct]:
    match type_:
        case Nullable(of=inner) | List(item=inner):
            return _structs(inner)
        case Map(key=key, value=value):
            return [*_structs(key), *_structs(value)]
        case Struct() if is_tuple(type_):
            return [each for field in type_.fields for each in _structs(field.type)]
        case Struct():
            return [type_]
        case _:  # a type that holds no others
            return []


def is_tuple(struct: Struct) -> bool:
    """Whether it stands for a tuple."""
    return is_tuple_of(list(struct.names))


def is_tuple_of(names: list[str]) -> bool:
    """Whether these are the names of the parts of a tuple."""
    return len(names) > 1 and names == [f"_{number}" for number in range(1, len(names) + 1)]


def identity(struct: Struct) -> tuple[object, ...]:
    """What tells structs apart that are equal: where their fields stand too."""
    texts = tuple(variant.text for variant in struct.variants)
    return (struct, tuple(field.path for field in struct.fields), texts, tuple(map(identity, _parts(struct))))


def _named(struct: Struct, name: str, outer: str, given: dict[str, tuple[object, ...]]) -> Struct:
    mine = identity(struct)
    choices = [name, f"{outer}{name}", *(f"{outer}{name}{number}" for number in range(2, len(given) + 3))]
    chosen = next(each for each in choices if given.setdefault(each, mine) == mine)
    if struct.variants:
        variants = [replace(each, record=_named(each.record, each.name, chosen, given)) for each in struct.variants]
        return union_of_records(chosen, struct.fields[0].name, tuple(variants))

    def renamed(field: Field) -> Field:
        word = record_name(field.name)
        return replace(field, type=within(field.type, lambda held: _named(held, held.name or word, chosen, given)))

    return Struct(tuple(map(renamed, struct.fields)), chosen)


def union_of_records(name: str | None, tag: str, variants: tuple[Variant, ...]) -> Struct:
    """The union of these records. Raises `Unmapped` where they do not go together."""
    texts = [variant.text for variant in variants]
    if field_name(tag) != tag:
        raise Unmapped(f'the tag of a union cannot have the name "{tag}"')
    if len(set(texts)) < len(texts):
        raise Unmapped(f'two records of a union have the tag "{next(each for each in texts if texts.count(each) > 1)}"')
    made = union_type(name or "", tag, variants)
    if isinstance(made, tuple):
        field, one, other = made
        raise Unmapped(f'"{field}" is one thing in "{one.name}" and another in "{other.name}"')
    return Struct(made.fields, name, made.variants, made.cases, made.needs)


def tagged(record: Struct, tag: str, said: str | None = None) -> Variant:
    """A record with a field for the tag as one of a union. `said`: the text of the tag where the field does not say."""
    held = next((field for field in record.fields if (field.path or field.name) == tag), None)
    type_ = None if held is None else strip(held.type)
    texts = type_.values if isinstance(type_, Enumeration) else ()
    text = said if said is not None else texts[0] if len(texts) == 1 else None
    if text is None:
        raise Unmapped(f'"{tag}" of "{record.name or "a record"}" does not say one text, by which it is known')
    rest = tuple(field for field in record.fields if field is not held)
    return Variant(text, Struct(rest, record.name or record_name(text)))
