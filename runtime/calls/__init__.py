"""Calls of responsive stream units: received, put in order, run and answered."""

__all__: list[str] = []
