"""Codes 52x: batch units of which no Spark job can be made."""

from __future__ import annotations

from ghcm.codes.kind import Kind

SPARK = (
    Kind("GHCM-520", "a task that needs a stream unit", "Move it to a stream unit."),
    Kind("GHCM-521", "input that a batch unit cannot read", "Read it in a stream unit that writes a sink."),
    Kind("GHCM-522", "a sink that Spark cannot read", "Keep its rows in files, or in Redis."),
    Kind("GHCM-523", "a sink that Spark cannot write", "Write files, or to Redis."),
    Kind("GHCM-524", "rows that this sink cannot keep by key", "Give it a key and keep it in Redis, or replace."),
    Kind("GHCM-525", "a call that cannot stand in this function on Spark", "Compute it before, and use its result."),
)
