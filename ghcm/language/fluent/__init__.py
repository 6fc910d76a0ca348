"""The Python front end: pipelines as chained calls whose lambdas are traced into the same syntax tree as the text's.

Its public names are those of `ghcm`.
"""

__all__: list[str] = []
