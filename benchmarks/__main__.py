"""`python -m benchmarks run [--peers] [--only NAME ...] [--quick]`, and `python -m benchmarks references`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from rich.console import Console

from benchmarks.suite import references
from benchmarks.suite.problems import problems
from benchmarks.suite.run import Options, run


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    names = [problem.name for problem in problems()]
    quick = [problem.name for problem in problems() if problem.quick]
    only = {"nargs": "+", "choices": names, "default": [], "metavar": "NAME", "help": ", ".join(names)}
    measure = commands.add_parser("run", help="measure, print the tables and write benchmarks/RESULTS.md")
    measure.add_argument("--peers", action="store_true", help="other solvers as well")
    measure.add_argument("--install", action="store_true", help="install the peers first, by pip and, as root, by apt")
    measure.add_argument("--only", **only)
    measure.add_argument("--quick", action="store_true", help="small problems; the table goes to the cache folder")
    measure.add_argument("--fresh", action="store_true", help="measure again what was measured already")
    measure.add_argument("--limit", type=float, default=8.0, help="seconds for each method (%(default)s)")
    measure.add_argument("--peer-limit", type=float, default=30.0, help="seconds for each peer (%(default)s)")
    measure.add_argument("--memory", type=float, default=6.0, help="gigabytes for each process (%(default)s)")
    find = commands.add_parser("references", help="compute the optima that benchmarks/references.json lacks")
    find.add_argument("--only", **only)
    find.add_argument("--again", action="store_true", help="those named by --only, even if they are there")
    given = parser.parse_args(arguments)
    try:
        if given.command == "references":
            references.main(given.only, given.again)
            return 0
        if given.install:
            install()
        options = Options(
            given.peers,
            tuple(given.only),
            given.quick or (bool(given.only) and set(given.only) <= set(quick)),
            given.fresh,
            given.limit,
            given.peer_limit,
            given.memory * 1e9,
        )
        run(options, Console())
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def install() -> None:
    """The peers, where they can be had; what cannot is told in its rows."""
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "scs", "clarabel"], check=False)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        packages = ["coinor-csdp", "dsdp", "libopenblas0-pthread"]
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], check=False)


if __name__ == "__main__":
    raise SystemExit(main())
