"""The Spark back end: from a batch unit to a PySpark job that runs under plain spark-submit."""

from ghcm.codegen.spark.engine import SPARK
from ghcm.codegen.spark.job import generate

__all__ = ["SPARK", "generate"]
