"""Sinks: where data rests, written in versions that readers see as a whole."""

__all__: list[str] = []
