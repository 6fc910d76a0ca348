"""Formats: how records stand in files and on the wire; one decoder each."""

__all__: list[str] = []
