"""Formats: how a record stands in a file, one decoder for each, whoever reads it.

Nothing here needs a third party but pyarrow, nor more of GHCM than errors, types and values: Spark jobs carry just
these with them (`_NEEDED` in `ghcm.codegen.spark.packing`). Functions go to Spark's Python workers by value, as the
modules are not there, so none that records need stands behind `lru_cache`, which goes by name.
"""

__all__: list[str] = []
