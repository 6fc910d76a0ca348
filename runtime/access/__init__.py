"""Who may do what: scopes, the tokens that have them, and the log of what callers did."""

__all__: list[str] = []
