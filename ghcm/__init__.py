"""GHCM: one typed program, compiled to streaming tasks, Spark jobs and a service that answers calls."""

__version__ = "0.1.0"

__all__ = ["__version__"]
