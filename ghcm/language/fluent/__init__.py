"""The Python front end: pipelines as chained calls whose lambdas are traced into the same syntax tree as the text's."""

__all__: list[str] = []
