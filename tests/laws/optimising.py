"""Generated programs before and after the optimiser: what it makes of them means the same, behind each pass.

python -m tests.laws.optimising --programs 20000
python -m tests.laws.optimising --spark --programs 20000      on Spark, four programs in a job
python -m tests.laws.optimising --seed 17                     one program again, with its graphs
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from ghcm.optimizer import PASSES, Optimised, Pass, Verdict, broken_claims, optimise
from ghcm.spg.graph import Program
from ghcm.spg.reference import Result, run
from ghcm.spg.text import print_program
from ghcm.spg.verify import verify
from ghcm.verification.compare import differences
from tests.laws.rewritable import program_of, text_of

__all__ = ["keeps_its_meaning", "laws_used"]


def keeps_its_meaning(program: Program, passes: Sequence[Pass] = PASSES) -> Optimised:
    """Assert that what each pass leaves is a sound graph of the same meaning, of which all holds that is claimed."""
    expected = run(program, "u")
    before = program

    def sound(behind: Pass, changed: Program) -> None:
        nonlocal before
        assert verify(changed) == [], f"behind {behind.name}"
        assert list(broken_claims(behind, changed, passes)) == [], f"behind {behind.name}"
        if changed is not before:
            _same(program, expected, run(changed, "u"), behind.name)
        before = changed

    return optimise(program, passes, after_pass=sound)


def _same(program: Program, expected: Result, found: Result, behind: str) -> None:
    letters = [(each.task, each.reason.value, each.input) for each in found.dead]
    assert differences(program, expected, sinks=found.sinks, dead=letters) == [], f"behind {behind}"
    assert found.instructions == expected.instructions, f"behind {behind}"
    assert found.reply == expected.reply, f"behind {behind}"


def laws_used(results: Iterable[Optimised]) -> tuple[Counter[str], Counter[str]]:
    """How often each law was applied and declined."""
    remarks = [remark for result in results for remark in result.remarks]
    applied = Counter(each.law for each in remarks if each.verdict is Verdict.APPLIED)
    return applied, Counter(each.law for each in remarks if each.verdict is Verdict.DECLINED)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 where a program is changed in its meaning."""
    parser = argparse.ArgumentParser(description="optimise generated programs and compare them with what they were")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one program by itself")
    parser.add_argument("--spark", action="store_true", help="what is left of batch programs, on Spark")
    given = parser.parse_args(arguments)
    if given.spark:
        return _on_spark(range(given.start, given.start + given.programs) if given.seed is None else [given.seed])
    if given.seed is not None:
        print(text_of(given.seed), print_program(optimise(program_of(given.seed)).program), sep="\n", flush=True)
        keeps_its_meaning(program_of(given.seed))
        return 0
    results, failed = list[Optimised](), list[int]()
    for seed in range(given.start, given.start + given.programs):
        try:
            results.append(keeps_its_meaning(program_of(seed)))
        except Exception as error:
            failed.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    applied, declined = laws_used(results)
    for law in sorted({*applied, *declined}):
        print(f"{applied[law]:7,} applied {declined[law]:7,} declined  {law}")
    print(f"{len(failed)} of {given.programs:,} programs failed: {failed[:40]}")
    return 1 if failed else 0


def _on_spark(seeds: Sequence[int]) -> int:
    from tests.laws.spark_together import rewritable_cases, run_on_one_session

    wrong = run_on_one_session(rewritable_cases(len(seeds), seeds[0]), at_once=4, optimised=True)
    print("\n".join(f"seed {seed}: {said[:3]}" for seed, said in wrong))
    print(f"{len(wrong)} of {len(seeds):,} programs failed on Spark")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
