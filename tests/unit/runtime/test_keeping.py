"""Work that goes on whatever it raises."""

import asyncio
import logging

import pytest

from ghcm.runtime import keeping
from ghcm.runtime.keeping import keep


def test_work_that_fails_is_told_and_begins_anew(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(keeping, "_PAUSE_SECONDS", 0.0)
    begun: list[int] = []

    async def work() -> None:
        begun.append(len(begun))
        if len(begun) < 3:
            raise KeyError("what nobody has thought of")

    with caplog.at_level(logging.ERROR):
        asyncio.run(keep("the care for calls", work))
    assert begun == [0, 1, 2]
    assert caplog.text.count("the care for calls has failed, and begins anew") == 2
    assert "what nobody has thought of" in caplog.text
