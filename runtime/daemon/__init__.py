"""The daemon: the parent of all processes of a running GHCM, and the socket through which it is controlled."""

__all__: list[str] = []
