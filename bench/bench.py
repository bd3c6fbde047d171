#!/usr/bin/env python3
"""Measures the figures of the README: `./dev bench [NAME...] [--quick] [--json FILE]`."""

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import distributed_rows
import figures
import numbered_rows
import servers
from distributed_rows import Skipped
from figures import Row, effort
from machine import description

FIGURES = {**figures.FIGURES, **numbered_rows.FIGURES, **distributed_rows.FIGURES}
GROUPS = {"distributed": distributed_rows.NAMES}


def text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def show(row: Row) -> None:
    bounds = f"gate {text(row.gate)} aim {text(row.aim)}" if row.gate is not None else ""
    print(" | ".join((row.figure, row.ours, row.against, text(row.ratio), bounds, row.verdict)), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"figures, all by default: {', '.join(FIGURES)}; "
                        f"{', '.join(GROUPS)} names several")
    parser.add_argument("--quick", action="store_true", help="short runs that only show that everything works")
    parser.add_argument("--json", type=Path, help="where the rows go as JSON")
    parser.add_argument("--build", type=Path, default=servers.build, help="the build whose programs are measured")
    parser.add_argument("--peers", help="the folder of stacks to measure beside; else WEIR_PEERS names it")
    arguments = parser.parse_args()
    if arguments.peers:
        os.environ["WEIR_PEERS"] = str(Path(arguments.peers).resolve())
    names = [name for given in arguments.names for name in GROUPS.get(given, [given])]
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        parser.error(f"no figure {', '.join(unknown)}; there are: {', '.join(FIGURES)}")
    servers.build = arguments.build.resolve()
    machine = description()
    print(f"machine: {machine}; load at the start: {os.getloadavg()[0]:.2f}")
    print("figure | ours | against | ratio | bounds | verdict")
    rows, failures = [], 0
    for name in names or FIGURES:
        try:
            measured = FIGURES[name](effort(arguments.quick))
        except Skipped as reason:
            print(f"SKIPPED: {name}: {reason}", flush=True)
            continue
        except Exception as trouble:  # One figure that cannot be taken keeps no other from being taken.
            print(f"{name} | FAILED: {trouble}", file=sys.stderr, flush=True)
            failures += 1
            continue
        for row in measured:
            show(row)
            rows.append({"name": name, **asdict(row), "verdict": row.verdict})
        if arguments.json:
            report = {"machine": machine, "load": os.getloadavg(), "quick": arguments.quick, "rows": rows}
            arguments.json.write_text(json.dumps(report, indent=1, ensure_ascii=False))
    print(f"load at the end: {os.getloadavg()[0]:.2f}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
