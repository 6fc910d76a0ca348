"""The optimiser: rewrites graphs into cheaper graphs of the same meaning."""

if __name__ != "ghcm.optimizer":
    raise ImportError(
        f'cannot import "optimizer" as "{__name__}": write "ghcm.optimizer", with the root of the checkout '
        "or the installed package on the path. Under two names, every class would exist twice."
    )

__all__: list[str] = []
