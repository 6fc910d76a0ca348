"""Errors of the runtime become statuses: the caller's mistakes 4xx, what is away 503, the rest 500."""

import pytest

from ghcm.errors import GhcmError
from ghcm.supervisor.problems import problem_of, response


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("GHCM-711", 413),
        ("GHCM-712", 422),
        ("GHCM-732", 410),
        ("GHCM-323", 404),
        ("GHCM-325", 409),
        ("GHCM-746", 429),
        ("GHCM-748", 503),
        ("GHCM-720", 503),
        ("GHCM-731", 503),
        ("GHCM-740", 503),
        ("GHCM-733", 500),
        ("GHCM-741", 500),
        ("GHCM-747", 500),
        ("GHCM-799", 500),
    ],
)
def test_whose_fault_it_is_decides(code: str, status: int) -> None:
    problem = problem_of(GhcmError("m", code=code, detail="d", hint="h"))
    assert (problem.status, problem.code, problem.message, problem.detail, problem.hint) == (
        status,
        code,
        "m",
        "d",
        "h",
    )
    assert ("retry-after" in response(problem).headers) == (status in (429, 503))
