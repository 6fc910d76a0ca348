"""The pydantic model of a unit's parameters, made from their types: it checks calls and describes them in OpenAPI.

A value is read by `ghcm.values`, so that what is accepted here is what units understand; the model gives back the
canonical JSON that an instruction carries.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, assert_never, cast

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema, create_model

from ghcm import types
from ghcm.spg.graph import Parameter, Unit
from ghcm.types import INT_MAX, INT_MIN, strip
from ghcm.values import from_json, to_json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parameters_model(unit: Unit) -> type[BaseModel]:
    """The model of the body of a call: a property for each parameter, none else. To be dumped by alias."""
    name = "".join(part.capitalize() for part in unit.name.split("_")) + "Parameters"
    # Under names of their own, so that a parameter may be called `schema` or `copy`, as attributes of models are.
    fields: dict[str, Any] = {f"parameter_{index}": _field(each) for index, each in enumerate(unit.parameters)}
    config = ConfigDict(extra="forbid", protected_namespaces=())
    return create_model(name, __config__=config, __doc__=f'The parameters of "{unit.name}".', **fields)


def _field(parameter: Parameter) -> tuple[Any, Any]:
    type_ = parameter.type
    schema = WithJsonSchema(json_schema(type_), mode="validation")
    annotation = Annotated[object, PlainValidator(lambda data: canonical(data, type_)), schema]
    default = ... if parameter.required else to_json(parameter.default, type_)
    return annotation, Field(default, alias=parameter.name, title=parameter.name, description=str(type_))


def canonical(data: object, type_: types.Type) -> object:
    """The canonical JSON of a caller's value; moments may have an offset or none (UTC). ValueError if it is wrong."""
    if isinstance(strip(type_), types.Timestamp) and isinstance(data, str):
        data = _moment(data)
    return to_json(from_json(data, type_), type_)


def _moment(text: str) -> str:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text  # whatever it is, the reader of the type says what it expects
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    micros = (found - _EPOCH) // timedelta(microseconds=1)
    return cast("str", to_json(micros, types.Timestamp()))


def json_schema(type_: types.Type) -> dict[str, Any]:
    """The JSON schema of the JSON form of a type."""
    match type_:
        case types.Null():
            return {"type": "null"}
        case types.Bool():
            return {"type": "boolean"}
        case types.Int():
            return {"type": "integer", "format": "int64", "minimum": INT_MIN, "maximum": INT_MAX}
        case types.Int32():
            return {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}
        case types.Float():
            return {"anyOf": [{"type": "number"}, {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}]}
        case types.Decimal():
            return {"anyOf": [{"type": "string", "format": "decimal"}, {"type": "number"}]}
        case types.String():
            return {"type": "string"}
        case types.Enumeration(values=values):
            return {"type": "string", "enum": list(values)}
        case types.Bytes():
            return {"type": "string", "contentEncoding": "base64"}
        case types.Timestamp():
            return {"type": "string", "format": "date-time"}
        case types.Date():
            return {"type": "string", "format": "date"}
        case types.Duration():
            return {"type": "number", "description": "seconds"}
        case types.List(item=item):
            return {"type": "array", "items": json_schema(item)}
        case types.Map(key=key, value=value):
            if isinstance(key, types.String | types.Enumeration):
                return {"type": "object", "additionalProperties": json_schema(value)}
            pair = [json_schema(key), json_schema(value)]
            return {"type": "array", "items": {"type": "array", "prefixItems": pair, "minItems": 2, "maxItems": 2}}
        case types.Struct(fields=fields):
            return {
                "type": "object",
                "properties": {part.name: json_schema(part.type) for part in fields},
                "required": [part.name for part in fields if not isinstance(part.type, types.Nullable)],
                "additionalProperties": False,
            }
        case types.Nullable(of=of):
            return {"anyOf": [json_schema(of), {"type": "null"}]}
        case _:
            assert_never(type_)
