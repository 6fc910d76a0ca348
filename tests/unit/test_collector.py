"""The search for garbage, where it would find nothing."""

import subprocess
import sys

import pytest

CIRCLE = """
import sys
from ghcm.collector import end_at_once

class Circle:
    def __init__(self):
        self.own = self

    def __del__(self):
        print("found")

if sys.argv[1] == "at once":
    end_at_once()
Circle()
"""


@pytest.mark.parametrize(("how", "said"), [("at once", ""), ("as ever", "found\n")])
def test_a_process_that_ends_at_once_searches_for_nothing(how: str, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", CIRCLE, how], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == said
