"""The state of operators as bytes: plain Python values and decimals, nothing that could run code when it is read."""

from __future__ import annotations

import io
import pickle
from typing import Any

_ALLOWED = {("decimal", "Decimal")}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f'a state holds "{module}.{name}"')


def pack(value: object) -> bytes:
    """The bytes of nested tuples, lists, dicts and canonical values."""
    return pickle.dumps(value, protocol=5)


def unpack(data: bytes) -> Any:
    """The inverse of `pack`; `pickle.UnpicklingError` for anything else."""
    return _Reader(io.BytesIO(data)).load()
