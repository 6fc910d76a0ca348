"""JSON Schema (2020-12) into the fields of a record and back.

What a schema says about values beyond their type (bounds, patterns, defaults) has no counterpart and is left.
"""

from dataclasses import replace
from typing import TypeAlias, cast

from ghcm import types
from ghcm.schemas import records
from ghcm.schemas.records import Unmapped, field_name, record_name

Schema: TypeAlias = dict[str, object]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SAID: tuple[tuple[types.Type, Schema], ...] = (
    (types.Bool(), {"type": "boolean"}),
    (types.Int(), {"type": "integer"}),
    (types.Int32(), {"type": "integer", "format": "int32"}),
    (types.Float(), {"type": "number"}),
    (types.Duration(), {"type": "number", "format": "duration"}),
    (types.String(), {"type": "string"}),
    (types.Timestamp(), {"type": "string", "format": "date-time"}),
    (types.Date(), {"type": "string", "format": "date"}),
    (types.Bytes(), {"type": "string", "contentEncoding": "base64"}),
)
_STRINGS: dict[object, types.Type] = {"date-time": types.Timestamp(), "date": types.Date(), "byte": types.Bytes()}
_UNREAD = ("duration", "time", "binary")
"""Formats of strings whose texts are read in no other way than as they stand, though they look like more."""


def schema_of(record: types.Struct) -> Schema:
    """The schema of the JSON objects that are read as the record; nested records are under `$defs`."""
    definitions: dict[str, Schema] = {}
    whole = _object(record, definitions)
    head: Schema = {"$schema": _DIALECT, "title": record.name or "Row"}
    return {**head, **whole, **({"$defs": definitions} if definitions else {})}


def _object(record: types.Struct, definitions: dict[str, Schema]) -> Schema:
    if record.variants:
        tag = record.fields[0].name
        choices = [_choice(tag, variant, definitions) for variant in record.variants]
        return {"oneOf": choices, "discriminator": {"propertyName": tag}}
    properties = {field.path or field.name: _schema(field.type, definitions) for field in record.fields}
    required = [field.path or field.name for field in record.fields if not types.is_nullable(field.type)]
    return {"type": "object", "properties": properties, "required": required}


def _choice(tag: str, variant: types.Variant, definitions: dict[str, Schema]) -> Schema:
    """A record of a union with the tag that says so."""
    whole = _object(variant.record, definitions)
    properties, required = _members(whole["properties"]), cast("list[str]", whole["required"])
    said: Schema = {"type": "string", "const": variant.text}
    return {**whole, "title": variant.name, "properties": {tag: said, **properties}, "required": [tag, *required]}


def _schema(type_: types.Type, definitions: dict[str, Schema]) -> Schema:
    match type_:
        case types.Nullable(of=of):
            return {"anyOf": [_schema(of, definitions), {"type": "null"}]}
        case types.Null():
            return {"type": "null"}
        case types.Decimal(precision=precision, scale=scale):
            return {"type": "string", "format": "decimal", "precision": precision, "scale": scale}
        case types.Enumeration(values=values):
            return {"type": "string", "enum": list(values)}
        case types.List(item=item):
            return {"type": "array", "items": _schema(item, definitions)}
        case types.Map(key=types.Enumeration(values=values), value=value):
            names: Schema = {"enum": list(values)}
            return {"type": "object", "propertyNames": names, "additionalProperties": _schema(value, definitions)}
        case types.Map(key=types.String(), value=value):
            return {"type": "object", "additionalProperties": _schema(value, definitions)}
        case types.Map(key=key, value=value):
            pair = [_schema(key, definitions), _schema(value, definitions)]
            return {"type": "array", "items": {"type": "array", "prefixItems": pair, "minItems": 2, "maxItems": 2}}
        case types.Struct(name=None):
            return _object(type_, definitions)
        case types.Struct(name=str(name)):
            definitions.setdefault(name, _object(type_, definitions))
            return {"$ref": f"#/$defs/{name}"}
        case _:  # a row of the table says it
            return dict(next(said for known, said in _SAID if known == type_))


def record_of_schema(schema: Schema) -> types.Struct:
    """The record of the objects that a schema describes. Raises `Unmapped`."""
    found = _Reading(schema).type(schema)
    if not isinstance(found, types.Struct):
        raise Unmapped("the schema is of no object with properties")
    title = schema.get("title")
    return replace(found, name=title if isinstance(title, str) else None)


class _Reading:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._open: list[str] = []

    def type(self, schema: object) -> types.Type:
        if not isinstance(schema, dict):
            raise Unmapped("a schema that says nothing is no type of the language")
        said = cast("Schema", schema)
        if "$ref" in said:
            return self._referred(str(said["$ref"]))
        for word in ("anyOf", "oneOf"):
            if word in said:
                choices = cast("list[object]", said[word])
                tag = self._tag(said, choices)
                return self._one(choices) if tag is None else self._union(said, choices, tag)
        values = _listed(said)
        if values is not None and said.get("type", "string") == "string":
            return _enum(values)
        kinds = said.get("type")
        if isinstance(kinds, list):
            return self._one([{**said, "type": kind} for kind in cast("list[object]", kinds)])
        match kinds:
            case "null":
                return types.Null()
            case "boolean":
                return types.Bool()
            case "integer":
                return types.Int32() if said.get("format") == "int32" else types.Int()
            case "number":
                return types.Duration() if said.get("format") == "duration" else types.Float()
            case "string":
                return _string(said)
            case "array":
                return self._array(said)
            case "object":
                return self._object(said)
            case _:
                raise Unmapped("a schema without a type is no type of the language")

    def _referred(self, where: str) -> types.Type:
        if where in self._open:
            raise Unmapped(f'"{where}" is inside of itself, and records are not')
        node = self._node(where)
        self._open.append(where)
        found = self.type(node)
        self._open.pop()
        if isinstance(found, types.Struct) and found.name is None:
            return replace(found, name=record_name(where.rpartition("/")[2]))
        return found

    def _node(self, where: str) -> object:
        """What a reference means."""
        node: object = self._root
        for name in where.removeprefix("#/").split("/") if where.startswith("#/") else [""]:
            key = name.replace("~1", "/").replace("~0", "~")
            node = _members(node).get(key)
        if node is None:
            raise Unmapped(f'"{where}" is no part of the schema')
        return node

    def _tag(self, said: Schema, choices: list[object]) -> str | None:
        """The property that tells the records of a choice apart: one that is said to, or that is one text in each."""
        named = _members(said.get("discriminator")).get("propertyName")
        if isinstance(named, str):
            return named
        objects = [properties for choice in choices if (properties := self._properties(choice)) is not None]
        if len(objects) < 2:
            return None
        fixed = [[name for name, each in properties.items() if "const" in _members(each)] for properties in objects]
        return next((name for name in fixed[0] if all(name in names for names in fixed)), None)

    def _properties(self, choice: object) -> Schema | None:
        """The properties of an object; None where it is another type."""
        held = _members(choice)
        held = _members(self._node(str(held["$ref"]))) if "$ref" in held else held
        return _members(held["properties"]) if "properties" in held else None

    def _union(self, said: Schema, choices: list[object], tag: str) -> types.Type:
        """The union of records with a tag; `mapping` names what says which where they do not themselves."""
        mapping = _members(_members(said.get("discriminator")).get("mapping"))
        texts = {where: text for text, where in mapping.items()}
        variants: list[types.Variant] = []
        nullable = False
        for choice in choices:
            found = self.type(choice)
            if isinstance(found, types.Null):
                nullable = True
                continue
            if not isinstance(found, types.Struct) or found.variants:
                raise Unmapped("a choice of records and other things is no type of the language")
            variants.append(records.tagged(found, tag, texts.get(_members(choice).get("$ref"))))
        title = said.get("title")
        made = records.union_of_records(record_name(title) if isinstance(title, str) else None, tag, tuple(variants))
        return types.Nullable(made) if nullable else made

    def _one(self, choices: list[object]) -> types.Type:
        found = [self.type(choice) for choice in choices]
        given = [type_ for type_ in found if not isinstance(type_, types.Null)]
        if not given or any(type_ != given[0] for type_ in given):
            raise Unmapped("a choice of types is no type of the language")
        return given[0] if len(given) == len(found) else types.as_nullable(given[0])

    def _array(self, said: Schema) -> types.Type:
        if "prefixItems" in said:
            raise Unmapped("an array of items of different types is no type of the language")
        items: object = said.get("items")
        pair = _members(items).get("prefixItems")
        if isinstance(pair, list) and len(cast("list[object]", pair)) == 2:
            key, value = (self.type(each) for each in cast("list[object]", pair))
            return types.Map(key, value)
        return types.List(self.type(items))

    def _object(self, said: Schema) -> types.Type:
        properties = said.get("properties")
        if not isinstance(properties, dict):
            listed = _listed(_members(said.get("propertyNames")))
            key_type = types.String() if listed is None else _enum(listed)
            return types.Map(key_type, self.type(said.get("additionalProperties")))
        known = cast("Schema", properties)
        required = said.get("required")
        there = cast("list[str]", required) if isinstance(required, list) else []
        fields: list[types.Field] = []
        names = list(known) if records.is_tuple_of(list(known)) else records.distinct(map(field_name, known))
        for key, name in zip(known, names, strict=True):
            with records.inside(key):
                type_ = self.type(known[key])
            path = None if name == key else key
            fields.append(types.Field(name, type_ if key in there else types.as_nullable(type_), path))
        title = said.get("title")
        return types.Struct(tuple(fields), record_name(title) if isinstance(title, str) else None)


def _members(node: object) -> Schema:
    """What an object holds; nothing where it is none."""
    return cast("Schema", node) if isinstance(node, dict) else {}


def _listed(said: Schema) -> list[object] | None:
    """The values that a schema lists, where it lists them."""
    values = said.get("enum", [said["const"]] if "const" in said else None)
    return cast("list[object]", values) if isinstance(values, list) else None


def _enum(values: list[object]) -> types.Type:
    texts = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    others = [value for value in values if not isinstance(value, str) and value is not None]
    if others or not texts:
        raise Unmapped("an enum of anything but strings is no type of the language")
    return types.Enumeration(texts) if None not in values else types.as_nullable(types.Enumeration(texts))


def _string(said: Schema) -> types.Type:
    form = said.get("format")
    match form, said.get("precision"), said.get("scale"):
        case "decimal", int(precision), int(scale) if 0 <= scale <= precision <= 38 and precision:
            return types.Decimal(precision, scale)
        case _ if form in _UNREAD and said.get("contentEncoding") is None:
            raise Unmapped(f'a string of the format "{form}" is no type of the language')
        case _:
            return types.Bytes() if said.get("contentEncoding") == "base64" else _STRINGS.get(form, types.String())
