"""What may be taken of a daemon: by all together, and by one caller."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ghcm.runtime.durations import Seconds, seconds

_STRICT = ConfigDict(extra="forbid", frozen=True)


class Limits(BaseModel):
    """`[limits]`: so that nobody takes what belongs to all."""

    model_config = _STRICT
    calls: Annotated[int, Field(gt=0)] = 1000
    """Open calls of one unit; more are refused."""
    batches: Annotated[int, Field(gt=0)] = 2
    """Batch calls that run at once."""
    rows: Annotated[int, Field(gt=0)] = 10_000
    """Rows in one answer over HTTP."""
    deadline: Seconds = 24 * 3600.0
    """The longest time that a caller may give a call."""
    grace: Annotated[float, BeforeValidator(seconds), Field(ge=0)] = 30.0
    """How long calls that were accepted may take when their program is stopped."""
    lease: Annotated[float, BeforeValidator(seconds), Field(ge=1)] = 30.0
    """How long a daemon that says nothing keeps its programs, where several share one Redis."""


class Quotas(BaseModel):
    """`[quotas]`: so that no caller takes what belongs to all. A caller is a token, or the subject of an issuer's; all
    who bring none are one.
    """

    model_config = _STRICT
    calls: Annotated[int, Field(gt=0)] = 500
    """Open calls of one caller."""
    rate: Annotated[float, Field(gt=0)] = 200.0
    """Calls a second of one caller, in the long run."""
    burst: Annotated[int, Field(gt=0)] = 400
    """Calls of one caller at once, if there were none for a while."""
