"""`python -m tests.fuzz`: the long form."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz import generate, seeds, tricks
from tests.fuzz.cases import Case, replayed
from tests.fuzz.worker import Pool


def main() -> int:
    """Try so many cases of each family; 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--specs", type=int, default=20_000, help="how many mutated specs")
    parser.add_argument("--files", type=int, default=2_000, help="how many mutated data files and runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case of each family")
    parser.add_argument("--tricks", action="store_true", help="also every file made by hand")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="folder for what failed")
    parser.add_argument("--replay", type=Path, nargs="+", help="try the cases in these folders again, and nothing else")
    options = parser.parse_args()
    with Pool() as pool:
        if options.replay:
            return _replay(options.replay, pool)
        return _fuzz(options, pool)


def _replay(folders: list[Path], pool: Pool) -> int:
    failed = 0
    for folder in folders:
        outcome, detail = pool.run(replayed(folder))
        print(f"{folder}: {outcome}\n{detail}")
        failed += outcome == "failed"
    return int(failed > 0)


def _fuzz(options: argparse.Namespace, pool: Pool) -> int:
    # Made once, before the worker is forked.
    seeds.specs(), seeds.files(), seeds.runs()
    numbers = {family: getattr(options, family) for family in generate.FAMILIES}
    failed = 0
    if options.tricks:
        failed += _family("tricks", [*tricks.data_files(), *tricks.run_folders()], options, pool)
    for family, make in generate.FAMILIES.items():
        chosen = range(options.first, options.first + numbers[family])
        failed += _family(family, (make(options.seed, index) for index in chosen), options, pool)
    for text, count in sorted(pool.warned.items(), key=lambda item: -item[1])[:30]:
        print(f"warned {count} times: {text}")
    return int(failed > 0)


def _family(family: str, cases, options: argparse.Namespace, pool: Pool) -> int:
    begun, counts = time.monotonic(), Counter()
    for number, case in enumerate(cases, options.first):
        if time.monotonic() - begun > 60 * options.minutes:
            print(f"{family}: stopped before case {number}")
            break
        outcome, detail = pool.run(case)
        counts[outcome] += 1
        if outcome == "failed":
            _keep(family, number, case, detail, options)
    seconds = time.monotonic() - begun
    shares = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    print(f"{family}: {counts.total()} tried in {seconds:.0f} s: {shares}; peak memory {pool.peak / 1e6:.0f} MB")
    return counts["failed"]


def _keep(family: str, number: int, case: Case, detail: str, options: argparse.Namespace) -> None:
    folder = options.out / f"{family}-{options.seed}-{number}"
    print(f"FAILED {folder} ({case.label}): {detail.strip().splitlines()[-1][:300]}", flush=True)
    if not folder.exists():
        case.save(folder, detail)


if __name__ == "__main__":
    sys.exit(main())
