"""The order and the identity of values in the reference.

Null is least, NaN equals itself and is greatest, -0.0 = 0.0, strings go by code point, structs and lists part by part.
"""

import math
from typing import assert_never, cast

from ghcm import types


def order_key(value: object, type_: types.Type) -> tuple[object, ...]:
    """A tuple that compares and hashes as the value is ordered and told apart among values of its type."""
    if value is None:
        return (0,)
    match type_:
        case types.Nullable(of=of):
            return order_key(value, of)
        case types.Float():
            number = cast("float", value)
            return (1, 1, 0.0) if math.isnan(number) else (1, 0, number)
        case types.List(item=item):
            return (1, *(order_key(each, item) for each in cast("list[object]", value)))
        case types.Struct(fields=fields):
            parts = zip(cast("tuple[object, ...]", value), fields, strict=True)
            return (1, *(order_key(each, field.type) for each, field in parts))
        case types.Map(key=key, value=held):  # has no order in the language; told apart by its pairs
            pairs = cast("dict[object, object]", value).items()
            return (1, *sorted((order_key(name, key), order_key(each, held)) for name, each in pairs))
        case types.Scalar() | types.Decimal() | types.Enumeration():  # ordered as their Python values are
            return (1, value)
        case _:
            assert_never(type_)
