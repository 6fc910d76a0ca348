"""Parquet files as sources: Spark reads them by the columns that their footers name."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType, TimestampType

from ghcm.codegen.spark.library.files.columnar import Proven, Rows, proven_by, rows_as_records, spark_type
from ghcm.codegen.spark.library.hadoop import spark_path
from ghcm.codegen.spark.library.job import Job, Step, letters, parted, refusal
from ghcm.codegen.spark.library.lines import file_name, spark_paths
from ghcm.codegen.spark.library.sql import fails, quoted
from ghcm.codegen.spark.library.tables.delta import rows_as_texts
from ghcm.codegen.spark.library.types import record_type
from ghcm.errors import GhcmError
from ghcm.formats.tables import read_footer
from ghcm.places import place
from ghcm.types import Struct


@dataclass
class AlikeFiles:
    """Parquet files with the same columns for a record, and what is proven of them."""

    columns: dict[str, Any]
    """Their types, as Arrow has them."""
    given: StructType
    others: StructType
    """The columns that no record has: by what share of a row is read Spark tells how large the rest is."""
    proven: Proven
    names: list[str] = field(default_factory=list[str])


def alike_files(job: Job, names: list[str], struct: Struct) -> tuple[list[AlikeFiles], list[str]]:
    """The files that Spark reads, and those that it cannot. GhcmError where one lacks a column."""
    found: dict[str, AlikeFiles] = {}
    others: list[str] = []
    for name in names:
        try:
            metadata, columns = read_footer(place(Path(), job.where(name)), name, struct)
        except GhcmError as error:
            raise refusal(error, file=name) from None
        given = _given(columns, metadata)
        if given is None or spark_path(job.spark, job.where(name)) is None:
            others.append(name)
            continue
        proven = proven_by(metadata)
        alike = found.setdefault(str(columns), AlikeFiles(columns, given, _others(columns, metadata), proven))
        alike.names.append(name)
        alike.proven = alike.proven.both(proven)
    return list(found.values()), others


def _given(columns: dict[str, Any], metadata: Any) -> StructType | None:
    """The columns as Spark reads them; moments of 96 bits are those of UTC."""
    leaves = [metadata.schema.column(index) for index in range(metadata.num_columns)]
    wide = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    types = {name: TimestampType() if name in wide else spark_type(type_) for name, type_ in columns.items()}
    if not types or None in types.values() or any(path not in types for path in wide if path.split(".")[0] in types):
        return None
    return StructType([StructField(name, type_) for name, type_ in types.items() if type_ is not None])


def _others(columns: dict[str, Any], metadata: Any) -> StructType:
    """The further columns of a file that are of a type of Spark's."""
    found = ((each.name, spark_type(each.type)) for each in metadata.schema.to_arrow_schema())
    return StructType([StructField(name, type_) for name, type_ in found if name not in columns and type_ is not None])


def rows_of_alike(job: Job, step: Step, files: AlikeFiles, by_group: Collection[str]) -> DataFrame | None:
    """The records of such files; rows that are none become dead letters. None where only the exact reader can tell."""
    found = rows_as_records(step.input, files.given, files.proven, by_group)
    if not found.sure:
        return None
    whole = StructType([*files.given, *files.others])
    rows = job.spark.read.schema(whole).parquet(*spark_paths(job, files.names)).selectExpr(*map(quoted, files.columns))
    return _guarded(job, step, rows, found, files).selectExpr(*found.columns)


def _guarded(job: Job, step: Step, rows: DataFrame, found: Rows, files: AlikeFiles) -> DataFrame:
    tell, columns = rows_as_texts(record_type(step.input), files.columns), [*map(quoted, files.columns)]

    def as_letters(failed: DataFrame) -> DataFrame:
        file = f"{file_name(job, files.names, '_metadata.file_path')} AS `@file`"
        placed = failed.selectExpr(file, "_metadata.row_index + 1 AS `@number`", *columns)
        told = placed.mapInArrow(tell, "`@text` string, `@error` string")
        return letters(job, told, step, "left(`@text`, 16384)")

    if found.left:
        sound = rows.where(f"NOT coalesce({found.doubt}, false)") if found.doubt else rows
        job.unsettled.setdefault(step.task, []).append(lambda: as_letters(sound.where(found.left)))
    if not found.doubt:
        return rows
    return parted(job, rows, fails(found.doubt, "bad_record", "the row is no record"), as_letters, None)
