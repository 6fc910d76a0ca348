"""Snapshots: how a running unit and its state come to disk together."""

__all__: list[str] = []
