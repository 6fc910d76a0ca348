"""The program of wordcount.istream in Python: the same names, the same graph."""

from ghcm import Program, Record, agg, files, fn, parquet, redis, tumbling

wordcount = Program("wordcount")


class Word(Record):
    book: str
    word: str
    line: int


class StopWord(Record):
    word: str
    kind: str


class Favourite(Record):
    book: str
    word: str
    kind: str
    count: int
    line: int


per_window = wordcount.sink(files("out/per_window", format="json", mode="append"))
totals = wordcount.sink(redis("wordcount:total", key=lambda t: t.key, mode="upsert"))
words = wordcount.sink(parquet("out/words", mode="append"))
favourites = wordcount.sink(parquet("out/favourites", mode="replace"))


@wordcount.stream
def count_words() -> None:
    """Reads the books line by line; a line a second, so that a window of a minute is sixty lines."""
    lines = files("books/*.txt", format="text").event_time(
        lambda line: fn.from_micros(line.number * 1000000), disorder="0s"
    )

    # Every word of a line, with its place.
    found = lines.flat_map(
        lambda line: (
            line.text.lower().extract_all("[a-z]+").map(lambda word: Word(book=line.file, word=word, line=line.number))
        )
    )

    (found.map_to_pair(lambda w: (w.word, 1)).window(tumbling("60s")).reduce_by_key(lambda a, b: a + b).to(per_window))

    counts = found.map_to_pair(lambda w: (w.word, 1)).reduce_by_key(lambda a, b: a + b)
    counts.to(totals)

    found.to(words).publish(favourite_words(until=agg.max("line")), every=10000, at_end=True)


@wordcount.batch(responsive=True)
def favourite_words(until: int = 1000000) -> None:
    """A Spark job that runs when it is called: the stop word that each book uses most."""
    stop_words = files("stop_words.csv", format="csv").as_(StopWord)

    counted = (
        words.read()
        .filter(lambda w: w.line <= until)
        .map_to_pair(lambda w: ((w.book, w.word), 1))
        .reduce_by_key(lambda a, b: a + b)
    )

    (
        counted.join(stop_words, on=lambda c, s: c.key._2 == s.word)
        .map_to_pair(lambda j: (j.left.key._1, (j.left.value, j.left.key._2, j.right.kind)))
        .reduce_by_key(lambda a, b: fn.max(a, b))
        .map(lambda p: Favourite(book=p.key, word=p.value._2, kind=p.value._3, count=p.value._1, line=until))
        .to(favourites)
    )


@wordcount.stream(responsive=True)
def how_often(word: str) -> None:
    """Answers from the live state of the stream, in milliseconds."""
    count_words.counts.read(word).reply()
