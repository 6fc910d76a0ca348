"""From a file to the record that its rows are: what `ghcm schema infer` writes."""

from ghcm.inference.infer import Inferred, infer

__all__ = ["Inferred", "infer"]
