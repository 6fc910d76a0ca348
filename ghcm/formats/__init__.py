"""Formats: how a record stands in a file, one decoder for each, whoever reads it.

Nothing here needs more than the standard library and pyarrow: the native engine makes batches of what is read, and
Spark jobs carry these modules with them (`ghcm.codegen.spark.packing`), so that functions have to go to other processes
by value.
"""

__all__: list[str] = []
