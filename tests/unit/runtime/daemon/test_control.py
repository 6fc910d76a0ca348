"""A daemon takes the address of the one before, also while that is still ending."""

from __future__ import annotations

import threading

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.control import listen


def test_an_address_that_is_given_up_meanwhile_is_taken() -> None:
    before = listen("127.0.0.1", 0)
    port = before.getsockname()[1]
    ending = threading.Timer(0.3, before.close)
    ending.start()
    with listen("127.0.0.1", port) as after:
        assert after.getsockname()[1] == port
    ending.join()


def test_an_address_of_another_is_refused_with_its_name() -> None:
    with listen("127.0.0.1", 0) as other:
        port = other.getsockname()[1]
        with pytest.raises(GhcmError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            listen("127.0.0.1", port)
