"""The version of GHCM, for every layer."""

__version__ = "0.1.0"
