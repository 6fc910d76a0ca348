"""Strings as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, by_first, plain

EMITTERS: dict[str, Emit] = {
    "length": by_first(List="size", Map="map_size", other="length"),
    "lower": plain("lower"),
    "upper": plain("upper"),
    "trim": plain("trim"),
    "trim_start": plain("trim_start"),
    "trim_end": plain("trim_end"),
    "is_empty": by_first(List="has_no_items", Map="has_no_keys", other="is_empty"),
    "starts_with": plain("starts_with"),
    "ends_with": plain("ends_with"),
    "contains": by_first(List="has_item", other="contains"),
    "replace": plain("replace"),
    "substring": plain("substring"),
    "split": plain("split"),
    "split_part": plain("split_part"),
    "lines": plain("lines_of"),
    "words": plain("words_of"),
    "concat": plain("join_text"),
    "join": plain("join_list"),
    "reverse": plain("reversed_text"),
    "repeat": plain("repeated"),
    "pad_start": plain("padded_start"),
    "pad_end": plain("padded_end"),
    "index_of": plain("index_of"),
    "last_index_of": plain("last_index_of"),
    "count_of": plain("count_of"),
    "slice": by_first(List="slice_of_list", other="slice_of_text"),
    "left": plain("left_part"),
    "right": plain("right_part"),
    "remove_prefix": plain("remove_prefix"),
    "remove_suffix": plain("remove_suffix"),
}
