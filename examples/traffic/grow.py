"""Writes `grown.istream`: the traffic monitor with a third responsive unit, which one changed publish policy calls.

    python examples/traffic/grow.py
    ghcm submit examples/traffic/grown.istream      # while traffic.istream runs: everything else goes on

Alarms used to have chains rebuilt. Now they have the list of attackers made, which has chains rebuilt when it is done.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
POLICY = "alarms.to(alerts).publish(rebuild(until = max(ts)), every = 100, at_end = true)"
CHANGED = "alarms.to(alerts).publish(attackers(until = max(ts)), every = 100, at_end = true)"
UNIT = """
# ---------------------------------------------------------------------------------------------- what was added later

record Attacker { host: string, alarms: int, victims: int, worst: int, since: timestamp, until: timestamp }

sink attackers_now = parquet("out/attackers", mode = replace)

# Who attacks, the busiest first; then the chains of attacks are rebuilt, as alarms had them before.
responsive batch attackers(until: timestamp? = null, n: int = 100) {
  alerts.read()
        .filter(a => until is null or a.ts <= until)
        .map_to_pair(a => (a.src, a))
        .aggregate_by_key(alarms  = count(),
                          victims = distinct_count(value.dst),
                          worst   = min(value.severity),
                          since   = min(value.ts),
                          until   = max(value.ts))
        .map(p => Attacker { host: p.key, alarms: p.value.alarms, victims: p.value.victims, worst: p.value.worst,
                             since: p.value.since, until: p.value.until })
        .top(n, by = a => (a.alarms, a.host))
        .to(attackers_now)
        .publish(rebuild(until = max(until)), on = completion)
}
"""


def grown(text: str) -> str:
    """The text of the monitor with the policy changed and the unit added."""
    if text.count(POLICY) != 1:
        raise SystemExit(f"the policy is not there once:\n  {POLICY}")
    return text.replace(POLICY, CHANGED) + UNIT


if __name__ == "__main__":
    place = FOLDER / "grown.istream"
    place.write_text(grown((FOLDER / "traffic.istream").read_text(encoding="utf-8")), encoding="utf-8")
    print(place)
