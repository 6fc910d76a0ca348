"""Strings in the table of functions.

Positions and lengths are in code points.
"""

from ghcm.functions.table import ELSE, SAFE, Choice, Failure, Function
from ghcm.signatures import BOOL, INT, STRING, TEXT2, Resolution, comparable, first, fixed
from ghcm.support import Never
from ghcm.types import Int32, List, Map, Nullable, String, Type, strip
from ghcm.unification import unify

LONGEST_TEXT = 1_048_576
"""The most code points of a text that `repeat` and the paddings make; more than that fails."""


def list_length(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list or map gives int."""
    return Resolution(arguments, INT) if len(arguments) == 1 and isinstance(arguments[0], List | Map) else None


def list_is_empty(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list or map gives bool."""
    return Resolution(arguments, BOOL) if len(arguments) == 1 and isinstance(arguments[0], List | Map) else None


def list_contains(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list of comparable non-null items and one of them give bool."""
    if len(arguments) != 2 or not isinstance(arguments[0], List):
        return None
    item = strip(arguments[0].item)
    fits = item == arguments[0].item and unify(item, arguments[1]) == item and comparable(item)
    return Resolution((arguments[0], item), BOOL) if fits else None


def list_slice(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list and one or two indices give a list."""
    if len(arguments) not in (2, 3) or not isinstance(arguments[0], List):
        return None
    fits = all(each in (INT, Int32()) for each in arguments[1:])
    return Resolution((arguments[0], *(INT for _ in arguments[1:])), arguments[0]) if fits else None


def all_strings(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two or more strings give one."""
    fits = len(arguments) >= 2 and all(each == STRING for each in arguments)
    return Resolution(arguments, STRING) if fits else None


_TRIM = first(fixed(STRING, STRING), fixed(STRING, STRING, STRING))
_SPACE = "ASCII white space (space, tab, newline, carriage return, vertical tab, form feed)"


def _trimmed(python: str, polars: str) -> tuple[str, dict[Choice, str]]:
    """How Python and Polars trim: the latter's characters may differ from text to text."""
    space = r'" \t\n\r\x0b\x0c"'
    columns: dict[Choice, str] = {1: f"{{0}}.str.{polars}({space})", 2: f"{{0}}.str.{polars}({{1:given}})"}
    return f'{{0}}.{python}({{1|" \\t\\n\\r\\v\\f"}})', columns


_BOTH, _START, _END = (
    _trimmed(python, polars)
    for python, polars in (("strip", "strip_chars"), ("lstrip", "strip_chars_start"), ("rstrip", "strip_chars_end"))
)

_TRIMMED = r"trim({} {{1|' \u0009\u000a\u000d\u000b\u000c'}} FROM {{0}})"
_PADDED = "{{given:then}}(CASE WHEN {} THEN {{0}} ELSE {}({{0}}, int(least({{1}}, {}L)), {{2}}) END)"
_STAYS = "{1} <= char_length({0}) OR {2} = ''"
_TOO_LONG = "the text gets too long"
_PADDED_FAILS = ((f"{{given}}NOT ({_STAYS}) AND {{1}} > {LONGEST_TEXT}", Failure.OVERFLOW, _TOO_LONG),)
_FITS = f"(char_length({{0}}) = 0 OR {{1}} <= {LONGEST_TEXT} div char_length({{0}}))"
_REPEATS = f"CASE WHEN {{given}}{{1}} >= 0 AND {_FITS}"
_NEGATIVE = (("{given}{1} < 0", Failure.OUT_OF_RANGE, "a negative count"),)

# fmt: off
TABLE = (
    Function(
        "length", "(s)", first(fixed(INT, STRING), list_length),
        says="the number of code points, of items of a list, or of keys of a map",
        shows={'length("größe")': "5", "length([1, 2, 3])": "3"},
        python="len({0})", polars={String: "{0}.str.len_chars().cast(pl.Int64)", ELSE: "{0}.list.len().cast(pl.Int64)"},
        spark={
            String: "bigint(char_length({0}))", List: "bigint(array_size({0}))",
            ELSE: "bigint(array_size(map_keys({0})))",
        },
    ),
    Function(
        "lower", "(s)", (STRING,), STRING, "in lower case by Unicode's default mapping",
        shows={'lower("ÄB")': '"äb"'},
        python="{0}.lower()", polars="{0}.str.to_lowercase()", polars_fails="column_texts.case_fails({0})",
        spark="lower({0})",
    ),
    Function(
        "upper", "(s)", (STRING,), STRING, "in upper case by Unicode's default mapping",
        shows={'upper("äb")': '"ÄB"'},
        python="{0}.upper()", polars="{0}.str.to_uppercase()", polars_fails="column_texts.case_fails({0})",
        spark="upper({0})",
    ),
    Function(
        "initcap", "(s)", (STRING,), STRING,
        "in lower case, but for the first code point of each of its words: of the parts that words(s) has",
        shows={'initcap("ada LOVELACE-king")': '"Ada Lovelace-king"'},
        python="row_texts.initcap({0})", polars="column_texts.initcap({0})",
        polars_fails="column_texts.case_fails({0})",
        spark=r"array_join(transform(regexp_extract_all(lower({0}), '[ \\t-\\r]+|[^ \\t-\\r]+', 0), "
        "{each} -> concat(upper(left({each}, 1)), substring({each}, 2))), '')",
    ),
    Function(
        "trim", "trim(s), trim(s, characters)", _TRIM,
        says=f"without {_SPACE} at both ends, or without any of these characters",
        shows={'trim("  a b ")': '"a b"', 'trim("--a-b-", "-")': '"a-b"'},
        python=_BOTH[0], polars=_BOTH[1], spark=_TRIMMED.format("BOTH"),
    ),
    Function(
        "trim_start", "trim_start(s), trim_start(s, characters)", _TRIM, says="the same at the beginning only",
        shows={'trim_start("  a ")': '"a "'},
        python=_START[0], polars=_START[1], spark=_TRIMMED.format("LEADING"),
    ),
    Function(
        "trim_end", "trim_end(s), trim_end(s, characters)", _TRIM, says="the same at the end only",
        shows={'trim_end("  a ")': '"  a"'},
        python=_END[0], polars=_END[1], spark=_TRIMMED.format("TRAILING"),
    ),
    Function(
        "is_empty", "(s)", first(fixed(BOOL, STRING), list_is_empty),
        says="whether it has no code points, no items of a list, or no keys of a map",
        shows={'is_empty("")': "true", "is_empty([1])": "false"},
        python="len({0}) == 0", polars={String: '{0} == ""', ELSE: "{0}.list.len() == 0"},
        spark={String: "({0} = '')", List: "(array_size({0}) = 0)", ELSE: "(array_size(map_keys({0})) = 0)"},
    ),
    Function(
        "starts_with", "(s, part)", (STRING, STRING), BOOL, "whether it begins with part",
        shows={'starts_with("/docs/install", "/docs")': "true"},
        python="{0}.startswith({1})", polars="{0}.str.starts_with({1:bare})", spark="startswith({0}, {1})",
    ),
    Function(
        "ends_with", "(s, part)", (STRING, STRING), BOOL, "whether it ends with part",
        shows={'ends_with("a.csv", ".csv")': "true"},
        python="{0}.endswith({1})", polars="{0}.str.ends_with({1:bare})", spark="endswith({0}, {1})",
    ),
    Function(
        "contains", "contains(s, part), contains(list, item), part in s, item in list", first(TEXT2, list_contains),
        says="whether part occurs in it; whether a list has the item",
        shows={'contains("/docs/install", "install")': "true", "contains([1, 2], 3)": "false"},
        polars={List: "{0}.list.contains({1:given})", ELSE: "{0}.str.contains({1}, literal=True)"},
        spark="contains({0}, {1})",
    ),
    Function(
        "replace", "(s, old, new)", (STRING, STRING, STRING), STRING,
        "every occurrence of old, from the left, replaced; an empty old changes nothing",
        shows={'replace("a-b-c", "-", "+")': '"a+b+c"'},
        spark="replace({0}, {1}, {2})",
    ),
    Function(
        "substring", "(s, start, count)", (STRING, INT, INT), STRING,
        "up to count code points from start (from 0); fails for a negative start or count",
        failures=(Failure.OUT_OF_RANGE,),
        shows={'substring("stream", 1, 3)': '"tre"', 'substring("stream", -1, 3)': Failure.OUT_OF_RANGE},
        python="row_texts.substring({0}, {1}, {2})", polars="{0}.str.slice({1:given}.clip(0), {2:given}.clip(0))",
        polars_fails={SAFE: "", ELSE: "({1} < 0) | ({2} < 0)"},
        spark="{given:then}substring({0}, int(least({1}, 2147483646L)) + 1, int(least({2}, 2147483646L)))",
        spark_fails=(("{given}({1} < 0 OR {2} < 0)", Failure.OUT_OF_RANGE, "a negative start or count"),),
    ),
    Function(
        "split", "(s, separator)", (STRING, STRING), List(STRING),
        "the parts between separators; an empty separator fails",
        failures=(Failure.BAD_PATTERN,),
        shows={'split("a,b,", ",")': '["a", "b", ""]', 'split("a,b", "")': Failure.BAD_PATTERN},
        python={SAFE: "{0}.split({1})", ELSE: "row_texts.split({0}, {1})"},
        polars={SAFE: "{0}.str.split({1})", ELSE: "column_texts.split({0}, {1})"},
        polars_fails={SAFE: "", ELSE: '{1} == ""'},
    ),
    Function(
        "split_part", "(s, separator, n)", (STRING, STRING, INT), Nullable(STRING),
        "part n (from 0) between separators; null where there are fewer; fails for a negative n or an empty separator",
        failures=(Failure.BAD_PATTERN, Failure.OUT_OF_RANGE),
        shows={
            'split_part("a,b", ",", 1)': '"b"', 'split_part("a,b", ",", 2)': "null",
            'split_part("a,b", ",", -1)': Failure.OUT_OF_RANGE,
        },
        python="row_texts.split_part({0}, {1}, {2})", polars="column_texts.split_part({0}, {1}, {2})",
        polars_fails="column_texts.split_part_fails({0}, {1}, {2})",
    ),
    Function(
        "lines", "(s)", (STRING,), List(STRING),
        "the lines, which end in a newline or in a carriage return and a newline; the last need not",
        shows={r'lines("a\nb\n")': '["a", "b"]'},
        python="row_texts.lines({0})", polars="column_texts.lines({0})",
        spark=r"CASE WHEN {0} = '' THEN cast(array() AS array<string>) ELSE transform(split(regexp_replace({0}, "
        r"'\\n\\z', ''), '\u000a', -1), {each} -> regexp_replace({each}, '\\r\\z', '')) END",
    ),
    Function(
        "words", "(s)", (STRING,), List(STRING), f"the parts between {_SPACE}, none of them empty",
        shows={'words(" to be  or ")': '["to", "be", "or"]'},
        python="row_texts.words({0})", polars=r'{0}.str.extract_all(r"[^ \t-\r]+")',
        spark=r"regexp_extract_all({0}, '[^ \\t-\\r]+', 0)",
    ),
    Function(
        "concat", "(s, t, ...)", all_strings, says="one after the other",
        shows={'concat("a", "b", "c")': '"abc"'},
        polars="pl.concat_str({*})",
    ),
    Function(
        "join", "(list, separator)", (List(STRING), STRING), STRING,
        "the strings of a list with the separator between them",
        shows={'join(["a", "b"], ", ")': '"a, b"'},
        spark="array_join({0}, {1})",
    ),
    Function(
        "reverse", "(s)", (STRING,), STRING, "its code points from the last to the first",
        shows={'reverse("abc")': '"cba"'},
        python="{0}[::-1]", polars="column_texts.reverse({0})", spark="reverse({0})",
    ),
    Function(
        "repeat", "(s, n)", (STRING, INT), STRING,
        f"n times; fails for a negative n and for more than {LONGEST_TEXT:,} code points",
        failures=(Failure.OUT_OF_RANGE, Failure.OVERFLOW),
        shows={'repeat("ab", 3)': '"ababab"', 'repeat("ab", -1)': Failure.OUT_OF_RANGE},
        python="row_texts.repeat({0}, {1})", polars="column_texts.repeat({0}, {1})",
        polars_fails="column_texts.repeat_fails({0}, {1})",
        spark=f"{_REPEATS} THEN repeat({{0}}, int(least({{1}}, {LONGEST_TEXT}L))) END",
        spark_fails=(
            ("{given}{1} < 0", Failure.OUT_OF_RANGE, "a negative number of times"),
            (f"{{given}}NOT {_FITS}", Failure.OVERFLOW, _TOO_LONG),
        ),
    ),
    Function(
        "pad_start", "(s, width, fill)", (STRING, INT, STRING), STRING,
        "with fill, repeated and cut, before it up to a width; an empty fill changes nothing; "
        f"fails where that makes more than {LONGEST_TEXT:,} code points",
        failures=(Failure.OVERFLOW,),
        shows={'pad_start("7", 3, "0")': '"007"', 'pad_start("7", 2000000, "0")': Failure.OVERFLOW},
        python="row_texts.pad_start({0}, {1}, {2})", polars="column_texts.pad_start({0}, {1}, {2})",
        polars_fails="column_texts.pad_fails({0}, {1}, {2})",
        spark=_PADDED.format(_STAYS, "lpad", LONGEST_TEXT), spark_fails=_PADDED_FAILS,
    ),
    Function(
        "pad_end", "(s, width, fill)", (STRING, INT, STRING), STRING, "the same with fill behind it",
        failures=(Failure.OVERFLOW,),
        shows={'pad_end("7", 3, ".")': '"7.."', 'pad_end("7", 2000000, "0")': Failure.OVERFLOW},
        python="row_texts.pad_end({0}, {1}, {2})", polars="column_texts.pad_end({0}, {1}, {2})",
        polars_fails="column_texts.pad_fails({0}, {1}, {2})",
        spark=_PADDED.format(_STAYS, "rpad", LONGEST_TEXT), spark_fails=_PADDED_FAILS,
    ),
    Function(
        "index_of", "(s, part)", (STRING, STRING), INT,
        "where part first begins (from 0), -1 where it does not occur; 0 for an empty part",
        shows={'index_of("abcabc", "c")': "2", 'index_of("abc", "x")': "-1"},
        python="{0}.find({1})", polars="column_texts.index_of({0}, {1})", spark="(bigint(locate({1}, {0})) - 1L)",
    ),
    Function(
        "last_index_of", "(s, part)", (STRING, STRING), INT,
        "where part last begins (from 0), -1 where it does not occur; the length for an empty part",
        shows={'last_index_of("abcabc", "c")': "5"},
        python="{0}.rfind({1})", polars="column_texts.last_index_of({0}, {1})",
        spark="(CASE WHEN locate(reverse({1}), reverse({0})) = 0 THEN -1L "
        "ELSE bigint(char_length({0}) - char_length({1}) - locate(reverse({1}), reverse({0})) + 1) END)",
    ),
    Function(
        "count_of", "(s, part)", (STRING, STRING), INT,
        "how often part occurs without overlapping; for an empty part one more than the length",
        shows={'count_of("banana", "an")': "2"},
        python="{0}.count({1})", polars="column_texts.count_of({0}, {1})",
        spark="(CASE WHEN {1} = '' THEN bigint(char_length({0})) + 1L "
        "ELSE bigint((char_length({0}) - char_length(replace({0}, {1}, ''))) div char_length({1})) END)",
    ),
    Function(
        "levenshtein", "(s, t)", (STRING, STRING), INT,
        "the edit distance: how many code points have to be put in, left out or replaced to make one of the other",
        shows={'levenshtein("kitten", "sitting")': "3"},
        python="row_texts.levenshtein({0}, {1})", polars=Never("Polars has no edit distance"),
        spark="bigint(levenshtein({0}, {1}))",
    ),
    Function(
        "slice", "slice(s, start), slice(s, start, end), s[start:end]",
        first(fixed(STRING, STRING, INT), fixed(STRING, STRING, INT, INT), list_slice),
        says="from start (from 0) up to before end, as Python's s[start:end]: negative places count from the end, "
        "places outside are cut; of a list too",
        shows={'slice("stream", 1, -1)': '"trea"', "slice([1, 2, 3], 1)": "[2, 3]"},
        python="{0}[{1}:{2|}]",
        polars={
            (String, 2): "column_texts.slice_text({0}, {1})", String: "column_texts.slice_text({0}, {1}, {2})",
            2: "column_texts.slice_list({0}, {1})", ELSE: "column_texts.slice_list({0}, {1}, {2})",
        },
    ),
    Function(
        "left", "(s, n)", (STRING, INT), STRING, "the first n code points; fails for a negative n",
        failures=(Failure.OUT_OF_RANGE,),
        shows={'left("stream", 3)': '"str"', 'left("stream", -1)': Failure.OUT_OF_RANGE},
        python="row_texts.left({0}, {1})",
        spark="CASE WHEN {1} >= 0 THEN left({0}, int(least({1}, 2147483646L))) END", spark_fails=_NEGATIVE,
    ),
    Function(
        "right", "(s, n)", (STRING, INT), STRING, "the last n code points; fails for a negative n",
        failures=(Failure.OUT_OF_RANGE,),
        shows={'right("stream", 3)': '"eam"', 'right("stream", -1)': Failure.OUT_OF_RANGE},
        python="row_texts.right({0}, {1})", polars="column_texts.right({0}, {1})",
        polars_fails="column_texts.count_fails({0}, {1})",
        spark="CASE WHEN {1} >= 0 THEN right({0}, int(least({1}, 2147483646L))) END", spark_fails=_NEGATIVE,
    ),
    Function(
        "remove_prefix", "(s, part)", (STRING, STRING), STRING, "without part at its beginning, if it is there",
        shows={'remove_prefix("/docs/a", "/docs")': '"/a"'},
        python="{0}.removeprefix({1})", polars="{0}.str.strip_prefix({1:given})",
        spark="(CASE WHEN startswith({0}, {1}) THEN substring({0}, char_length({1}) + 1) "
        "ELSE CASE WHEN {1} IS NOT NULL THEN {0} END END)",
    ),
    Function(
        "remove_suffix", "(s, part)", (STRING, STRING), STRING, "without part at its end, if it is there",
        shows={'remove_suffix("a.csv", ".csv")': '"a"'},
        python="{0}.removesuffix({1})", polars="{0}.str.strip_suffix({1:given})",
        spark="(CASE WHEN endswith({0}, {1}) THEN left({0}, char_length({0}) - char_length({1})) "
        "ELSE CASE WHEN {1} IS NOT NULL THEN {0} END END)",
    ),
)
