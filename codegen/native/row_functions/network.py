"""IP addresses as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, call_of
from ghcm.functions import FAMILIES

EMITTERS: dict[str, Emit] = {each.name: call_of(f"network.{each.name}") for each in FAMILIES["network"]}
