"""Writes the eight tables of TPC-H as Parquet files, with data of our own: the same for the same scale and seed.

python generate.py --scale 0.1 data        data/lineitem.parquet and seven others, 600,000 lines of orders in all

The tables have the names, columns, types and sizes that everybody knows, so that files of other generators serve as
well. What is in them is made up here, so that each of the 22 queries finds something at any scale: values that queries
ask for are more frequent than others.
"""

import argparse
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = {
    "ALGERIA": 0, "ARGENTINA": 1, "BRAZIL": 1, "CANADA": 1, "EGYPT": 4, "ETHIOPIA": 0, "FRANCE": 3, "GERMANY": 3,
    "INDIA": 2, "INDONESIA": 2, "IRAN": 4, "IRAQ": 4, "JAPAN": 2, "JORDAN": 4, "KENYA": 0, "MOROCCO": 0,
    "MOZAMBIQUE": 0, "PERU": 1, "CHINA": 2, "ROMANIA": 3, "SAUDI ARABIA": 4, "VIETNAM": 2, "RUSSIA": 3,
    "UNITED KINGDOM": 3, "UNITED STATES": 1,
}  # fmt: skip
SEGMENTS = ("BUILDING", "AUTOMOBILE", "MACHINERY", "HOUSEHOLD", "FURNITURE")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("MAIL", "SHIP", "AIR", "AIR REG", "RAIL", "TRUCK", "FOB")
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
ASKED_FOR = ("Brand#23", "Brand#12", "Brand#34")
BRANDS = (*ASKED_FOR, *(b for b in (f"Brand#{m}{n}" for m in range(1, 6) for n in range(1, 6)) if b not in ASKED_FOR))
SIZES_OF_BOX, BOXES = ("SM", "MED", "LG", "JUMBO", "WRAP"), ("BOX", "CASE", "PKG", "PACK", "BAG", "JAR", "CAN", "DRUM")
GRADES = ("PROMO", "ECONOMY", "MEDIUM", "STANDARD", "LARGE", "SMALL")
FINISHES = ("ANODIZED", "POLISHED", "BURNISHED", "PLATED", "BRUSHED")
METALS = ("STEEL", "BRASS", "TIN", "COPPER", "NICKEL")
COLOURS = (
    "green", "forest", "almond", "azure", "beige", "blue", "brown", "coral", "cream", "cyan", "gold", "grey", "ivory",
    "khaki", "lace", "lemon", "lime", "linen", "mint", "navy", "olive", "orchid", "peach", "pink", "plum", "red",
    "rose", "salmon", "sand", "silver", "sky", "snow", "tan", "teal", "tomato", "violet", "white", "yellow",
)  # fmt: skip
WORDS = (
    "packages", "deposits", "accounts", "theories", "pearls", "foxes", "ideas", "quickly", "slowly", "carefully",
    "above", "among", "sleep", "haggle",
)  # fmt: skip
BEGIN, LAST_ORDER, TODAY = date(1992, 1, 1), date(1998, 8, 2), date(1995, 6, 17)
OF_BULK = 0.002  # of all orders: seven lines, each of 43 pieces or more


class Chance:
    """Random columns, from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def whole(self, least: int, most: int, count: int) -> Numbers:
        """Whole numbers from `least` to `most`."""
        return self._random.integers(least, most, count, endpoint=True)

    def part(self, share: float, count: int) -> NDArray[np.bool_]:
        """True for about that share."""
        return self._random.random(count) < share

    def one_of(self, values: Sequence[str], count: int, *, skew: float = 0.0) -> pl.Series:
        """Texts, the first ones more often with a skew."""
        weights = np.arange(1, len(values) + 1, dtype=np.float64) ** -skew
        found = self._random.choice(len(values), count, p=weights / weights.sum())
        return pl.Series(values, dtype=pl.String).gather(found)

    def words(self, count: int, values: Sequence[str] = WORDS, each: int = 5) -> pl.Series:
        """Texts of so many words."""
        return pl.select(pl.concat_str([self.one_of(values, count) for _ in range(each)], separator=" ")).to_series()


def tables(scale: float, seed: int = 1) -> dict[str, pl.DataFrame]:
    """The eight tables by name; scale 1 has about 6 million lines of orders."""
    chance = Chance(seed)
    suppliers, parts, customers = (
        max(least, round(n * scale)) for n, least in ((10_000, 20), (200_000, 40), (150_000, 30))
    )
    part = parts_of(chance, parts)
    lines = lines_of(chance, max(100, round(1_500_000 * scale)), customers, suppliers, part)
    return {
        "region": pl.DataFrame({"r_regionkey": range(5), "r_name": REGIONS, "r_comment": chance.words(5)}),
        "nation": pl.DataFrame(
            {
                "n_nationkey": range(25),
                "n_name": list(NATIONS),
                "n_regionkey": list(NATIONS.values()),
                "n_comment": chance.words(25),
            }
        ),
        "supplier": suppliers_of(chance, suppliers),
        "part": part,
        "partsupp": offers_of(chance, parts, suppliers),
        "customer": customers_of(chance, customers),
        "orders": orders_of(chance, lines),
        "lineitem": lines.select(pl.selectors.starts_with("l_")),
    }


def parts_of(chance: Chance, count: int) -> pl.DataFrame:
    """What is sold."""
    key = np.arange(1, count + 1)
    kind = [chance.one_of(values, count, skew=0.7) for values in (GRADES, FINISHES, METALS)]
    brand = chance.one_of(BRANDS, count, skew=0.7)
    name = [chance.one_of(COLOURS, count, skew=0.5), chance.words(count, COLOURS, 4)]
    return pl.DataFrame({"p_partkey": key}).with_columns(
        p_name=pl.concat_str(name, separator=" "),
        p_mfgr=pl.lit("Manufacturer#") + brand.str.slice(6, 1),
        p_brand=brand,
        p_type=pl.concat_str(kind, separator=" "),
        p_size=np.minimum(chance.whole(1, 50, count), chance.whole(1, 50, count)),
        p_container=pl.concat_str(
            [chance.one_of(values, count, skew=0.5) for values in (SIZES_OF_BOX, BOXES)], separator=" "
        ),
        p_retailprice=cents(90_000 + key % 20_001 + 100 * (key % 1000)),
        p_comment=chance.words(count, each=2),
    )


def suppliers_of(chance: Chance, count: int) -> pl.DataFrame:
    """Who sells it; a few have been complained of."""
    nation = chance.whole(0, 24, count)
    complained = pl.Series(chance.part(0.05, count))
    return pl.DataFrame({"s_suppkey": np.arange(1, count + 1)}).with_columns(
        s_name=numbered("Supplier", "s_suppkey"),
        s_address=chance.words(count, each=2),
        s_nationkey=nation,
        s_phone=phones(chance, nation),
        s_acctbal=cents(chance.whole(-99_999, 999_999, count)),
        s_comment=pl.when(complained).then(pl.lit("Customer sends Complaints")).otherwise(chance.words(count)),
    )


def offers_of(chance: Chance, parts: int, suppliers: int) -> pl.DataFrame:
    """Each part at four suppliers."""
    part = np.repeat(np.arange(1, parts + 1), 4)
    count = 4 * parts
    return pl.DataFrame(
        {
            "ps_partkey": part,
            "ps_suppkey": supplier_of(part, np.tile(np.arange(4), parts), suppliers),
            "ps_availqty": chance.whole(1, 9_999, count),
            "ps_supplycost": cents(chance.whole(100, 100_000, count)),
            "ps_comment": chance.words(count),
        }
    )


def supplier_of(part: Numbers, place: Numbers, suppliers: int) -> Numbers:
    """One of the four that have a part."""
    return (part + place * (suppliers // 4)) % suppliers + 1


def customers_of(chance: Chance, count: int) -> pl.DataFrame:
    """Who buys."""
    nation = chance.whole(0, 24, count)
    return pl.DataFrame({"c_custkey": np.arange(1, count + 1)}).with_columns(
        c_name=numbered("Customer", "c_custkey"),
        c_address=chance.words(count, each=2),
        c_nationkey=nation,
        c_phone=phones(chance, nation),
        c_acctbal=cents(chance.whole(-99_999, 999_999, count)),
        c_mktsegment=chance.one_of(SEGMENTS, count),
        c_comment=chance.words(count),
    )


def lines_of(chance: Chance, orders: int, customers: int, suppliers: int, part: pl.DataFrame) -> pl.DataFrame:
    """The lines of all orders, beside them what the orders have of themselves."""
    bulk = chance.part(OF_BULK, orders)
    bulk[0] = True
    size = np.where(bulk, 7, chance.whole(1, 7, orders))
    order = np.repeat(np.arange(orders), size)
    count = len(order)
    days = (LAST_ORDER - BEGIN).days
    customer = chance.whole(0, customers // 3 - 1, orders) * 3 + chance.whole(1, 2, orders)  # a third buys nothing
    ordered = chance.whole(0, days, orders)[order]
    shipped = ordered + chance.whole(1, 121, count)
    received = shipped + chance.whole(1, 30, count)
    today = (TODAY - BEGIN).days
    sold = chance.whole(1, part.height, count)
    pieces = np.where(bulk[order], chance.whole(43, 50, count), chance.whole(1, 50, count))
    price = part["p_retailprice"].gather(sold - 1)
    return pl.DataFrame(
        {
            "l_orderkey": order // 8 * 32 + order % 8 + 1,
            "l_partkey": sold,
            "l_suppkey": supplier_of(sold, chance.whole(0, 3, count), suppliers),
            "l_linenumber": np.arange(count) - np.repeat(np.cumsum(size) - size, size) + 1,
            "l_quantity": cents(100 * pieces),
            "l_extendedprice": (price * pl.Series(pieces)).cast(pl.Decimal(15, 2)),
            "l_discount": cents(chance.whole(0, 10, count)),
            "l_tax": cents(chance.whole(0, 8, count)),
            "l_returnflag": np.where(received > today, "N", np.where(chance.part(0.5, count), "R", "A")),
            "l_linestatus": np.where(shipped > today, "O", "F"),
            "l_shipdate": dates(shipped),
            "l_commitdate": dates(ordered + chance.whole(30, 90, count)),
            "l_receiptdate": dates(received),
            "l_shipinstruct": chance.one_of(INSTRUCTIONS, count),
            "l_shipmode": chance.one_of(MODES, count),
            "l_comment": chance.one_of(chance.words(1000, each=3).to_list(), count),
            "custkey": customer[order],
            "orderdate": dates(ordered),
        }
    )


def orders_of(chance: Chance, lines: pl.DataFrame) -> pl.DataFrame:
    """The orders of the lines."""
    paid = pl.col("l_extendedprice").cast(pl.Float64) * (1 + pl.col("l_tax").cast(pl.Float64))
    found = lines.group_by(o_orderkey="l_orderkey", maintain_order=True).agg(
        o_custkey=pl.col("custkey").first(),
        shipped=(pl.col("l_linestatus") == "F").mean(),
        total=(100 * paid * (1 - pl.col("l_discount").cast(pl.Float64))).sum().round().cast(pl.Int64),
        o_orderdate=pl.col("orderdate").first(),
    )
    count = found.height
    special = pl.Series(chance.part(0.03, count))
    status = pl.when(pl.col("shipped") == 1).then(pl.lit("F")).when(pl.col("shipped") == 0).then(pl.lit("O"))
    return found.select(
        "o_orderkey",
        "o_custkey",
        o_orderstatus=status.otherwise(pl.lit("P")),
        o_totalprice=cents(found["total"].to_numpy()),
        o_orderdate="o_orderdate",
        o_orderpriority=chance.one_of(PRIORITIES, count),
        o_clerk=pl.Series([f"Clerk#{n:09}" for n in chance.whole(1, max(1, count // 1500), count)]),
        o_shippriority=pl.lit(0, pl.Int64),
        o_comment=pl.when(special).then(pl.lit("the special and unusual requests")).otherwise(chance.words(count)),
    )


def phones(chance: Chance, nation: Numbers) -> pl.Expr:
    """Numbers that begin with the code of the country."""
    parts = [chance.whole(least, most, len(nation)) for least, most in ((100, 999), (100, 999), (1000, 9999))]
    return pl.concat_str([pl.Series(each) for each in (nation + 10, *parts)], separator="-")


def numbered(what: str, key: str) -> pl.Expr:
    """The names of things that have none."""
    return pl.format(f"{what}#{{}}", pl.col(key).cast(pl.String).str.zfill(9))


def cents(values: Numbers) -> pl.Series:
    """Hundredths as decimals."""
    return (pl.Series(values).cast(pl.Decimal(15, 2)) * pl.Series([Decimal("0.01")])).cast(pl.Decimal(15, 2))


def dates(days: Numbers) -> pl.Series:
    """Days since the beginning as dates."""
    return pl.Series(days + (BEGIN - date(1970, 1, 1)).days).cast(pl.Int32).cast(pl.Date)


def write(found: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """A file for each table."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in found.items():
        table.write_parquet(folder / f"{name}.parquet")


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description="Writes the eight tables of TPC-H with generated data.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("data"))
    parser.add_argument("--scale", type=float, default=0.1, help="1 has about 6 million lines of orders (default: 0.1)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write(tables(given.scale, given.seed), given.folder)


if __name__ == "__main__":
    main()
