"""What is answered when a request cannot be served: one JSON form for every problem (RFC 9457, with our code and
hint).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from ghcm.errors import GhcmError, listed, suggest

MEDIA_TYPE = "application/problem+json"

_OF_CALLERS = {"GHCM-323": 404, "GHCM-325": 409, "GHCM-711": 413, "GHCM-712": 422, "GHCM-732": 410, "GHCM-746": 429}
"""What a caller can bring about, with values that fit the unit: an instruction that is too large or holds data, a
version of a sink that has been replaced, an id that is no call's or another call's, too many calls at once.
"""

_AWAY = frozenset(
    (
        "GHCM-632",
        "GHCM-636",
        "GHCM-720",
        "GHCM-721",
        "GHCM-730",
        "GHCM-731",
        "GHCM-739",
        "GHCM-740",
        "GHCM-748",
        "GHCM-754",
    )
)
"""A server, disk, store or program that cannot be used just now: the same call may do later."""

_BODY = "send a JSON object with the parameters by name; their types stand in /docs."


class Problem(GhcmError):
    """A request that cannot be served; `status` is HTTP's, the rest is what the user is told. `retry_after`: seconds,
    where it is 429 or 503.
    """

    def __init__(
        self, status: int, code: str, message: str, *, detail: str = "", hint: str = "", retry_after: int = 1
    ) -> None:
        super().__init__(message, code=code, detail=detail, hint=hint)
        self.status = status
        self.retry_after = retry_after


class Mistake(BaseModel):
    """One thing that is wrong with a request."""

    parameter: str
    message: str


class ProblemDocument(BaseModel):
    """Why a request was not served, and what to do."""

    status: int
    code: str
    message: str
    detail: str = ""
    hint: str = ""
    errors: list[Mistake] = []


PROBLEM: dict[str, Any] = {"model": ProblemDocument}
"""What OpenAPI is told of an answer that is a problem."""


def response(problem: Problem, errors: Sequence[Mistake] = ()) -> JSONResponse:
    """The problem as an answer."""
    document = ProblemDocument.model_validate({**problem.document(), "status": problem.status, "errors": errors})
    headers: dict[str, str] = {}
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    elif problem.status in (429, 503):
        headers["Retry-After"] = str(problem.retry_after)
    return JSONResponse(document.model_dump(), problem.status, headers, MEDIA_TYPE)


def problem_of(error: GhcmError) -> Problem:
    """What went wrong behind an endpoint. Whatever is not known as the caller's or as passing is ours."""
    if isinstance(error, Problem):
        return error
    status = _OF_CALLERS.get(error.code) or (503 if error.code in _AWAY else 500)
    return Problem(status, error.code, error.message, detail=error.detail, hint=error.hint)


def install(app: FastAPI) -> None:
    """Have the app answer every problem in this form."""
    app.add_exception_handler(GhcmError, _ghcm_error)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


async def _ghcm_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, GhcmError)
    return response(problem_of(error))


async def _validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    if (unread := _unread_body(request, error)) is not None:
        return response(unread)
    known = parameters_of(request.scope.get("endpoint"))
    mistakes: list[Mistake] = []
    for each in error.errors():
        path = [str(part) for part in each["loc"] if part not in ("body", "query", "path", "header")]
        message = str(each["msg"]).removeprefix("Value error, ")
        if each["type"] == "extra_forbidden":
            message = f'there is no parameter "{path[-1]}", '
            message += suggest(path[-1], known) or f"the unit has {listed(known)}"
        elif each["type"] == "missing" and path:
            message = f'the parameter "{path[-1]}" is missing'
        mistakes.append(Mistake(parameter=".".join(path), message=message))
    named = ", ".join(f'"{mistake.parameter}"' for mistake in mistakes if mistake.parameter)
    first = mistakes[0].message if mistakes else ""
    detail = f"{first[:1].upper()}{first[1:]}" + ("" if first.endswith("?") else ".")
    hint = "the types of the parameters stand in /docs."
    message = f"the call does not fit the unit: see {named}"
    return response(Problem(422, "GHCM-320", message, detail=detail, hint=hint), mistakes)


def _unread_body(request: Request, error: RequestValidationError) -> Problem | None:
    """The problem with a body that is no JSON object, so that no parameter can be named; None if it is one."""
    mistake = next((each for each in error.errors() if each["loc"][0] == "body"), None)
    if mistake is None:
        return None
    if mistake["type"] == "json_invalid":
        return _no_json(f"{mistake['ctx']['error']} at character {mistake['loc'][1]}.")
    if len(mistake["loc"]) > 1:
        return None
    if mistake["type"] == "missing":
        detail = f"The unit has the parameters {listed(parameters_of(request.scope.get('endpoint')))}."
        return Problem(422, "GHCM-324", "the call has no body", detail=detail, hint=_BODY)
    return Problem(422, "GHCM-324", "the body of the call is no JSON object", hint=_BODY)


def _no_json(detail: str) -> Problem:
    return Problem(400, "GHCM-324", "the body of the call is no JSON", detail=detail, hint=_BODY)


def describe(endpoint: Callable[..., object], parameters: Iterable[str]) -> None:
    """Note the names of a unit's parameters at its endpoint, for hints."""
    vars(endpoint)["unit_parameters"] = tuple(parameters)


def parameters_of(endpoint: object) -> tuple[str, ...]:
    """The names noted by `describe`."""
    found: tuple[str, ...] = getattr(endpoint, "unit_parameters", ())
    return found


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 400 if request.method == "POST":  # what FastAPI makes of text that its reader of JSON breaks off at
            return response(_no_json("It is no UTF-8 text, or nests too deep."))
        case 404:
            message, hint = f'there is nothing at "{request.url.path}"', "what there is stands in /docs."
        case 405:
            message, hint = f'"{request.url.path}" does not take {request.method}', "what it takes stands in /docs."
        case _:
            message, hint = str(error.detail), ""
    answer = response(Problem(error.status_code, "GHCM-324", message, hint=hint))
    answer.headers.update(error.headers or {})
    return answer


async def _bug(_request: Request, _error: Exception) -> JSONResponse:
    """A mistake of ours: the server writes it to its log, the caller learns where to look."""
    hint = 'report it with the log "http" of the daemon: ghcm logs http.'
    return response(Problem(500, "GHCM-799", "GHCM has a bug that stopped this request", hint=hint))
