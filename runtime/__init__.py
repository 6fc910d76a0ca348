"""The runtime: executes generated code, moves its data and keeps its state."""

if __name__ != "ghcm.runtime":
    raise ImportError(
        f'cannot import "runtime" as "{__name__}": write "ghcm.runtime", with the root of the checkout '
        "or the installed package on the path. Under two names, every class would exist twice."
    )

__all__: list[str] = []
