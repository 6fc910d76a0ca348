"""What OpenAPI says of every endpoint: the parameters of FastAPI's, and the problems of ours."""

from typing import Any

from fastapi import FastAPI

from ghcm.supervisor.problems import MEDIA_TYPE, PROBLEM

EVERYWHERE: dict[int | str, dict[str, Any]] = {
    400: PROBLEM | {"description": "The body is no JSON."},
    408: PROBLEM | {"description": "The request does not come to its end."},
    413: PROBLEM | {"description": "The request is too large: pass references, not data."},
    415: PROBLEM | {"description": "The request is not sent as JSON."},
    421: PROBLEM | {"description": "The host is not this server."},
    422: PROBLEM | {"description": "A parameter does not fit."},
    431: PROBLEM | {"description": "The head of the request is too large."},
    500: PROBLEM | {"description": "What was asked for has failed."},
    503: PROBLEM | {"description": "The store, a cache or the data cannot be reached, or connections are too many."},
}
"""The problems that any endpoint may answer with."""

_PROBLEM = {"$ref": "#/components/schemas/ProblemDocument"}

_OF_FASTAPI = ("HTTPValidationError", "ValidationError")


class Documented(FastAPI):
    """FastAPI, with a document that has our form of problems."""

    def openapi(self) -> dict[str, Any]:
        """The document, made when it is first asked for."""
        if self.openapi_schema is None:
            document = super().openapi()
            answers = [
                answer
                for operations in document["paths"].values()
                for operation in operations.values()
                for status, answer in operation["responses"].items()
                if int(status) >= 400
            ]
            for answer in answers:
                answer["content"] = {MEDIA_TYPE: {"schema": _schema(answer)}}
            for name in _OF_FASTAPI:
                document["components"]["schemas"].pop(name, None)
        assert self.openapi_schema is not None
        return self.openapi_schema


def _schema(answer: dict[str, Any]) -> object:
    """What the answer to a problem looks like: as the endpoint says, or as any problem."""
    contents: list[dict[str, Any]] = list(answer.get("content", {}).values())
    told = str(contents[0].get("schema", {}).get("$ref", "")) if contents else ""
    return {"$ref": told} if told and not told.endswith(_OF_FASTAPI) else _PROBLEM
