"""What the queries of KSQL that have no program wait for, or why ours differ."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["PARTLY", "WAITS"]

_AVRO = "nothing: about schemas of Avro, or about statements without columns"
_CUSTOM = "aggregates of one's own"
_CUT = "nothing: the source compares the first results only, and leaves out those of its last records"
_EAGER = "nothing: the source gives a null before a partner has come, and ours a final result (DESIGN 12)"
_FORMATS = "times read from text in a format, and written in one"
_HISTOGRAM = "an aggregate that counts values into a map"
_JSON = "fields of JSON in text"
_LOOSE = "nothing: values of several types in a map of strings; ours decodes strictly, and they are dead letters"
_NO_WINDOW = "nothing: bounds of windows where there are none"
_REFUSED = "nothing: statements that have to be refused; ours are in tests/golden/errors"
_SESSIONS = "session windows"
_STRUCTS = "its translation: nested records"
_SUBSTRING = "nothing: a substring by its end gives null where that is outside; our slices are cut"
_WINDOWED = "sources whose keys are windows of another query"

WAITS: Mapping[str, str] = {
    "datestring/date_to_string": _FORMATS,
    "elements/validate_avro_fails_on_incompatible_schema_evolution": _AVRO,
    "elements/validate_avro_ok_with_elements": _AVRO,
    "elements/validate_avro_ok_without_elements": _AVRO,
    "elements/validate_avro_uses_null_for_unknown_element": _AVRO,
    "elements/validate_delimited_fails_without_elements": _AVRO,
    "elements/validate_json_fails_without_elements": _AVRO,
    "extract-json-field/concat_two_extracted_fields": _JSON,
    "extract-json-field/extract_json_array_field": _JSON,
    "group-by/group_by_with_expression_not_in_select": _REFUSED,
    "group-by/group_by_with_function_not_in_select": _REFUSED,
    "histogram/histogram_on_a_table": _HISTOGRAM,
    "histogram/histogram_string": _HISTOGRAM,
    "hopping-windows/import_hopping_table": _WINDOWED,
    "joins/stream_stream_inner_join_with_out_of_order_messages": _CUT,
    "joins/stream_stream_left_join": _EAGER,
    "joins/stream_stream_outer_join": _EAGER,
    "joins/table_table_left_join": _CUT,
    "more-complex-struct/complex_struct_select_array_and_map_items": _STRUCTS,
    "more-complex-struct/complex_struct_select_array_map_map_value_struct": _STRUCTS,
    "more-complex-struct/complex_struct_select_star": _STRUCTS,
    "project-filter/json_map_filter": _LOOSE,
    "project-filter/null_row_filter": _LOOSE,
    "session-windows/import_session_stream": _WINDOWED,
    "session-windows/import_session_stream_and_group_by": _WINDOWED,
    "session-windows/import_session_table": _WINDOWED,
    "simple-struct/simple_struct_read_struct_as_json_string": _JSON,
    "simple-struct/simple_struct_select_filter": _STRUCTS,
    "simple-struct/simple_struct_select_filter_2": _STRUCTS,
    "simple-struct/simple_struct_select_filter_4": _STRUCTS,
    "simple-struct/simple_struct_select_for_ambiguity": _STRUCTS,
    "simple-struct/simple_struct_select_star": _STRUCTS,
    "simple-struct/simple_struct_select_with_nulls": _STRUCTS,
    "simple-struct/simples_struct_select_filter_3": _STRUCTS,
    "stringdate/string_to_date": _FORMATS,
    "stringtimestamp/string_to_timestamp": _FORMATS,
    "substring/do_substring_in_legacy_mode_with_start_and_end_indexes": _SUBSTRING,
    "test-custom-udaf/test_udaf_group_by": _CUSTOM,
    "test-custom-udaf/test_udaf_on_a_table": _CUSTOM,
    "timestampformat/timestamp_format": _FORMATS,
    "tumbling-windows/import_tumbling_table": _WINDOWED,
    "window-bounds/none": _NO_WINDOW,
}

PARTLY: Mapping[str, str] = {
    "session-windows/legacy_session": _SESSIONS,
    "session-windows/max_session": _SESSIONS,
    "window-bounds/table_session": _SESSIONS,
}
