"""Words of Spark, Flink, SQL and Python that are no words here, and what to write instead: hints, nothing else."""


def _meant(name: str) -> str:
    return f'did you mean "{name}"?'


_AGGREGATED = "aggregate_by_key(sum(value), mean(value)) aggregates the values of each key."
_ONCE = "distinct() gives each record once, key_by(r => r.id).present(1d) the first of those that follow in a day."
_GROUPS = "aggregate(by = x, n = count()) makes a record of each group, key_by(x) pairs for all that goes by key."
_RANKS = "last(value, 3, order = r => r.n) in aggregate(by = ...) is the list of the three greatest of a group."
_ENDS = "to(sink) writes the records, reply() answers a call with them."

OPERATORS = {
    "select": "map(x => { ... }) makes records of some columns.",
    "with_column": "map(x => { ... }) makes records with other columns.",
    "withColumn": "map(x => { ... }) makes records with other columns.",
    "where": _meant("filter"),
    **dict.fromkeys(("group_by", "groupBy", "groupby"), _GROUPS),
    **{
        f"{kind}{join}": f"It is written join(other, id, kind = {kind})."
        for kind in ("left", "right", "full", "semi", "anti")
        for join in ("_join", "Join")
    },
    **dict.fromkeys(("inner_join", "innerJoin"), _meant("join")),
    **dict.fromkeys(("asof_join", "join_asof", "as_of_join"), "It is written join(other, id, asof = true)."),
    **dict.fromkeys(("interval_join", "intervalJoin"), "It is written join(other, id, within = 10s)."),
    **dict.fromkeys(("count_by_key", "countByKey", "count_by_value", "countByValue", "value_counts"), _GROUPS),
    "having": "filter(...) behind aggregate(...) chooses among the groups.",
    "pivot": 'aggregate(by = x, a = sum(n, where = kind == "a"), ...) makes a column of each value.',
    **dict.fromkeys(("explode", "unnest"), "flat_map(r => r.xs) makes a record of each item."),
    **dict.fromkeys(("rank", "row_number"), _RANKS),
    "flatmap": _meant("flat_map"),
    "foreach": "to(sink) writes records.",
    "write": _meant("to"),
    "decode": _meant("as"),
    "limit": "top(n, by = ...) takes the first records of an order.",
    "take": "top(n, by = ...) takes the first records of an order.",
    "order_by": _meant("sort"),
    "orderBy": _meant("sort"),
    "reduce": _meant("reduce_by_key"),
    **dict.fromkeys(("lag", "rolling", "over"), "preceding(n) gives each value the last n before it of its key."),
    **dict.fromkeys(("cumsum", "running", "accumulate"), "scan(0, (total, x) => total + x) gives running totals."),
    **dict.fromkeys(("count_window", "countWindow", "batch", "buffer"), "chunks(100) gives lists of so many values."),
    **dict.fromkeys(("dedup", "deduplicate", "dropDuplicates", "drop_duplicates", "unique"), _ONCE),
    **dict.fromkeys(("silent", "silence", "timeout", "heartbeat"), "absent(5m) tells which keys have fallen silent."),
    **dict.fromkeys(("applyInPandas", "mapGroupsWithState", "flatMapGroupsWithState"), _meant("process")),
    **dict.fromkeys(("KeyedProcessFunction", "timer", "on_timer"), _meant("process")),
    "withWatermark": _meant("event_time"),
    "with_watermark": _meant("event_time"),
    **dict.fromkeys(("sum", "mean", "avg", "average", "min", "max", "agg"), _AGGREGATED),
    **dict.fromkeys(("collect", "show", "print", "execute"), _ENDS),
    **{
        name: f"Windows are assigned by window({name}(...))."
        for name in ("tumbling", "sliding", "cumulating", "session")
    },
}
"""For names that stand where an operator is asked for."""

_CLOCK = (
    "An expression gives the same for the same record, so it cannot look at a clock. "
    "Give the moment as a parameter of the unit, or compare with the event time of the record."
)
_PYTHON = 'Engines round it differently: .python("module:function") : float calls a Python function for each record.'
_JOINED = "xs + [x] is the list with one more item, xs + ys are the items of both."
_CHANCE = (
    "An expression gives the same for the same record, so it cannot draw lots; sample(0.1) takes a part of the records."
)
_NULL_TEST = 'A test for null is written "x is null".'

FUNCTIONS = {
    **dict.fromkeys(("is_null", "isnull", "isNull", "is_none"), _NULL_TEST),
    **dict.fromkeys(("is_not_null", "isNotNull", "notnull"), 'A test for null is written "x is not null".'),
    **dict.fromkeys(("avg", "average"), _meant("mean")),
    **dict.fromkeys(("covar_samp", "covariance", "cov"), _meant("covar")),
    "correlation": _meant("corr"),
    **dict.fromkeys(("stddev", "stdev", "stddev_samp"), _meant("std")),
    **dict.fromkeys(("variance", "var_samp"), _meant("var")),
    **dict.fromkeys(("percentile", "percentile_cont", "percentile_disc"), _meant("quantile")),
    **dict.fromkeys(("collect_list", "array_agg"), _meant("collect")),
    **dict.fromkeys(("count_distinct", "countDistinct", "nunique"), _meant("distinct_count")),
    **dict.fromkeys(("approx_count_distinct", "hll"), _meant("approx_distinct")),
    "str": _meant("to_string"),
    "cast": "to_int(x), to_float(x) and to_string(x) make one type of another.",
    **dict.fromkeys(("startswith", "startsWith"), _meant("starts_with")),
    **dict.fromkeys(("endswith", "endsWith"), _meant("ends_with")),
    **dict.fromkeys(("find", "indexOf", "instr", "locate", "position"), _meant("index_of")),
    **dict.fromkeys(("lpad", "rjust", "zfill", "padStart"), _meant("pad_start")),
    **dict.fromkeys(("rpad", "ljust", "padEnd"), _meant("pad_end")),
    **dict.fromkeys(("lstrip", "ltrim"), _meant("trim_start")),
    **dict.fromkeys(("rstrip", "rtrim"), _meant("trim_end")),
    **dict.fromkeys(("regexp_extract", "search"), _meant("extract")),
    **dict.fromkeys(("regexp_replace", "sub"), _meant("replace_pattern")),
    **dict.fromkeys(("regexp_like", "rlike", "like"), _meant("matches")),
    **dict.fromkeys(("sha2", "sha"), _meant("sha256")),
    **dict.fromkeys(("substr", "mid"), _meant("substring")),
    **dict.fromkeys(("base64", "b64encode"), _meant("to_base64")),
    **dict.fromkeys(("unbase64", "b64decode"), _meant("from_base64")),
    **dict.fromkeys(("unhex", "fromhex"), _meant("from_hex")),
    **dict.fromkeys(("urlencode", "quote", "encodeURIComponent"), _meant("url_encode")),
    **dict.fromkeys(("urldecode", "unquote", "decodeURIComponent"), _meant("url_decode")),
    **dict.fromkeys(("edit_distance", "editDistance"), _meant("levenshtein")),
    "len": _meant("length"),
    **dict.fromkeys(
        ("fold_left", "foldLeft", "reduce", "accumulate"), "xs.fold(0, (total, x) => total + x) folds a list."
    ),
    **dict.fromkeys(("enumerate", "zip_with_index", "posexplode"), "xs.map((x, i) => ...) is given positions, too."),
    **dict.fromkeys(("arrays_zip", "zip_with"), _meant("zip")),
    "size": _meant("length"),
    "strip": _meant("trim"),
    "items": _meant("entries"),
    **dict.fromkeys(("map_keys", "mapKeys"), _meant("keys")),
    **dict.fromkeys(("map_contains_key", "contains_key"), _meant("has_key")),
    **dict.fromkeys(("element_at", "getItem"), _meant("get")),
    **dict.fromkeys(("create_map", "dict"), _meant("map_of")),
    **dict.fromkeys(("ip_in_subnet", "cidr_match", "cidr_contains"), _meant("in_subnet")),
    **dict.fromkeys(("now", "today", "utcnow", "current_timestamp", "current_date", "current_time"), _CLOCK),
    **dict.fromkeys(("date_trunc", "trunc", "floor_to"), _meant("truncate_to")),
    **dict.fromkeys(("strptime", "str_to_date", "unix_timestamp"), _meant("parse_time")),
    **dict.fromkeys(("strftime", "date_format"), _meant("format_time")),
    **dict.fromkeys(("fromisoformat", "timestamp", "datetime"), _meant("to_timestamp")),
    **dict.fromkeys(("from_unixtime", "from_epoch", "fromtimestamp"), _meant("from_seconds")),
    **dict.fromkeys(("to_unixtime", "to_epoch", "epoch", "total_seconds"), _meant("to_seconds")),
    **dict.fromkeys(("make_date", "datefromparts"), _meant("date_of")),
    **dict.fromkeys(("make_timestamp", "timestamp_from_parts"), _meant("timestamp_of")),
    **dict.fromkeys(("datediff", "date_diff"), _meant("days_between")),
    "date_add": _meant("add_days"),
    "date_sub": "add_days(d, -n) goes back n days.",
    "date": _meant("to_date"),
    **dict.fromkeys(("dayofweek", "weekday", "isoweekday"), "day_of_week(t) is 1 for Monday and 7 for Sunday."),
    **dict.fromkeys(("dayofmonth", "day_of_month"), _meant("day")),
    "dayofyear": _meant("day_of_year"),
    **dict.fromkeys(("weekofyear", "week_of_year", "isoweek"), _meant("week")),
    **dict.fromkeys(
        ("from_utc_timestamp", "to_utc_timestamp", "convert_timezone", "in_zone", "at_timezone"),
        "A timestamp has no zone; parts, truncate_to, parse_time and format_time take one as their last argument.",
    ),
    "interval": "A duration is written 90s, 15m, 2h or 7d; to_duration(n) makes one of a number of seconds.",
    "ceiling": _meant("ceil"),
    "greatest": "The greatest of some values is [a, b].max().",
    "least": "The least of some values is [a, b].min().",
    **dict.fromkeys(("desc", "asc"), "It stands in an order: sort(by = r => (desc(r.n), r.name)), or in top."),
    "power": _meant("pow"),
    "square": "pow(x, 2) is a float, x * x stays a whole number.",
    "ln": _meant("log"),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"), _PYTHON),
    "log2": "log(x) / log(2) is the logarithm to base 2.",
    "mod": "The remainder is written a % b.",
    **dict.fromkeys(("equal_null", "eqNullSafe", "eq_missing", "is_not_distinct_from"), _meant("same")),
    **dict.fromkeys(("title", "capitalize", "to_titlecase", "InitCap"), _meant("initcap")),
    **dict.fromkeys(("nvl", "ifnull", "zeroifnull", "fillna", "fill_null", "if_null"), 'did you mean "coalesce"?'),
    "nullif": "It is written if a == b then null else a.",
    **dict.fromkeys(("iff", "iif", "ifelse", "if_else", "when", "case"), "It is written if a then b else c."),
    **dict.fromkeys(("isnan", "is_nan"), 'NaN equals itself: x == to_float("nan").'),
    **dict.fromkeys(("random", "rand", "uuid"), _CHANCE),
    **dict.fromkeys(("to_lower", "toLowerCase", "toLower", "lowercase", "lcase"), _meant("lower")),
    **dict.fromkeys(("to_upper", "toUpperCase", "toUpper", "uppercase", "ucase"), _meant("upper")),
    **dict.fromkeys(("int", "bigint", "parse_int", "to_number", "toInt", "to_long"), _meant("to_int")),
    **dict.fromkeys(("float", "double", "parse_float", "toFloat", "to_double"), _meant("to_float")),
    **dict.fromkeys(("decimal", "numeric", "toDecimal"), _meant("to_decimal")),
    **dict.fromkeys(("charAt", "char_at"), "A character is s[0:1], of the place that is before the colon."),
    **dict.fromkeys(("concat_ws", "array_join", "mkString"), 'list.join(", ") puts texts together.'),
    **dict.fromkeys(("array_contains", "list_contains", "includes"), _meant("contains")),
    **dict.fromkeys(("containsKey", "contains_key", "hasKey"), _meant("has_key")),
    **dict.fromkeys(("array_distinct", "set", "unique"), "xs.distinct() has each item once."),
    **dict.fromkeys(("sort_array", "array_sort", "sorted"), "xs.sort() has the items in order."),
    **dict.fromkeys(("array_length", "cardinality", "list_length"), _meant("length")),
    **dict.fromkeys(("transform", "forEach"), "xs.map(x => ...) gives a value for each item."),
    **dict.fromkeys(("append", "push", "array_append", "list_append", "array_concat", "extend"), _JOINED),
    **dict.fromkeys(("is_in", "isin"), "It is written x in [1, 2], in Python fn.contains([1, 2], x)."),
    "count": "xs.length() is the number of items, xs.filter(x => x > 0).length() of some.",
    "exists": "xs.any(x => ...) asks for an item.",
    **dict.fromkeys(("explode", "unnest", "flatten"), "The operator flat_map(r => r.xs) makes a record of each item."),
    **dict.fromkeys(("reduce", "fold", "aggregate"), "Lists have sum, mean, min, max, any and all."),
    "first": "The first item of a list is xs[0].",
    "last": "The last item of a list is xs[-1].",
    **dict.fromkeys(("from_json", "parse_json", "json_loads", "loads"), _meant("json_to")),
    **dict.fromkeys(("get_json_object", "json_extract", "json_value"), "json_string, json_int and others take a path."),
    **dict.fromkeys(("row_number", "rank", "lag", "lead"), "An expression sees one record; operators see many."),
}
"""For names that are called inside an expression."""

VALUES = {
    "True": _meant("true"),
    "False": _meant("false"),
    **dict.fromkeys(("None", "NULL", "nil", "undefined"), _meant("null")),
}
"""For names that stand where a value is asked for."""

TYPES = {
    **dict.fromkeys(("str", "text", "varchar"), _meant("string")),
    **dict.fromkeys(("integer", "long", "int64", "bigint"), _meant("int")),
    **dict.fromkeys(("double", "real"), _meant("float")),
    "boolean": _meant("bool"),
    "datetime": _meant("timestamp"),
    "time": 'did you mean "timestamp" or "duration"?',
}
"""For types, in lower case."""
