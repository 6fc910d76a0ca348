"""A program in two versions that differ in one publish policy and the unit that it calls, and what runs must give."""

from collections.abc import Iterable, Mapping

ONE = """\
program shop

record Number { number: int }

sink all    = files("out/all", format = json, mode = append)
sink sevens = files("out/sevens", format = json, mode = append)
sink latest = redis("PLACE", key = p => p.key, mode = upsert)

stream feed {
  numbers = SOURCE
  counts = numbers.map_to_pair(n => (n.number % 10, 1)).reduce_by_key((a, b) => a + b)
  counts.to(latest)
  numbers.to(all).publish(tally(below = max(number)), every = 500)
  marked = numbers.filter(n => n.number % 7 == 0)
  marked.to(sevens).publish(POLICY)
}

responsive stream tally(below: int) { feed.counts.read(below % 10).reply() }
responsive stream audit(last: int)  { feed.counts.read(last % 10).reply() }
"""
PROFILE = "responsive stream profile(last: int, n: int = 3) { feed.counts.read().top(n, by = p => p.value).reply() }\n"
EVERY = {"audit": 40, "profile": 25}


def versions(source: str, place: str = "shop:latest") -> tuple[str, str]:
    """The two versions, with their source of records with a `number`."""
    text = ONE.replace("SOURCE", source).replace("PLACE", place)
    policies = [f"{unit}(last = max(number)), every = {every}" for unit, every in EVERY.items()]
    return text.replace("POLICY", policies[0]), text.replace("POLICY", policies[1]) + PROFILE


def check_kept_policy(job: str, calls: Mapping[str, Mapping[str, object]], rows: int) -> None:
    """The policy that is in both versions has called as if nothing had been changed around it."""
    found = {id: call["below"] for id, call in calls.items() if ".all.publish" in id}
    assert found == {f"{job}.feed.all.publish.{n}": 500 * n + 499 for n in range(rows // 500)}


def check_changed_policy(calls: Iterable[tuple[str, str, Mapping[str, object]]]) -> None:
    """Each version's policy has counted from 0, every so many of the marked records, and where the one before was."""
    by_version: dict[int, list[tuple[int, str, int]]] = {}
    for id, unit, parameters in calls:
        name, _, sequence = id.partition(".sevens.publish.")[2].rpartition(".")
        last = parameters["last"]
        assert isinstance(last, int)
        by_version.setdefault(int(name.removeprefix("v") or 1), []).append((int(sequence), unit, last))
    end = -7
    for version, found in sorted(by_version.items()):
        found.sort()
        unit, every = ("audit", 40) if version % 2 else ("profile", 25)
        assert [sequence for sequence, _, _ in found] == list(range(len(found))), (version, found)
        assert {name for _, name, _ in found} == {unit}
        lasts = [last for _, _, last in found]
        assert lasts == [lasts[0] + 7 * every * n for n in range(len(lasts))], (version, found)
        assert lasts[0] >= end + 7 * every, (version, found, end)
        end = lasts[-1]
