"""What every emitter of expressions asks: how values of a type are ordered."""

from ghcm import types


def plainly_ordered(type_: types.Type) -> bool:
    """Whether Python's own comparison of canonical values is the language's: no float, no null and no map anywhere
    inside.
    """
    match type_:
        case types.Float() | types.Nullable() | types.Null() | types.Map():
            return False
        case types.List(item=item):
            return plainly_ordered(item)
        case types.Struct(fields=fields):
            return all(plainly_ordered(field.type) for field in fields)
        case _:  # Python orders the rest as the language does
            return True
