"""Times as settings say them: `"500ms"`, `"10s"`, `"2m"` or a number of seconds."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: object) -> object:
    """The number of seconds; ValueError where it is none."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d)?\s*", value)
    if found is None:
        raise ValueError('expected a duration such as "10s", "500ms" or "2m"')
    return float(found[1]) * _UNITS[found[2] or "s"]


Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0)]
