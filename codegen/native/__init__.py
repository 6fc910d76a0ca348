"""The generator for the native engine: one module per unit, with a row form and a columnar form of every task."""

from ghcm.codegen.native.module import NATIVE, generate

__all__ = ["NATIVE", "generate"]
