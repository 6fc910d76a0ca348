"""The notation of the SPG's text form: tokens, types, values and expressions, each printed and parsed."""

__all__: list[str] = []
