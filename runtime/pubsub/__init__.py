"""Msg caches and sinks: how instructions travel and where data rests."""

__all__: list[str] = []
