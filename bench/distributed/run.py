"""Takes one row of several machines in a process of its own: `run.py NAME [--quick]`, asked by bench.py.

Prints `ROW {…}` for each row as soon as it is known, and `SKIPPED reason` when it cannot be taken here.
"""

import argparse
import ctypes
import json
import os
import signal
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PR_SET_PDEATHSIG = 1


def leave(number, _):
    raise SystemExit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build" / "release")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, leave)  # What was started is stopped on the way out.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)  # Also when bench.py is killed.
    os.environ["WEIR_BENCH_BUILD"] = str(options.build.resolve())
    os.environ["WEIR_BINARY"] = str(options.build.resolve() / "src" / "app" / "weir")
    import rows
    from stack import Skipped
    try:
        for row in rows.ROWS[options.name](options.quick):
            print("ROW " + json.dumps(row, ensure_ascii=False), flush=True)
    except Skipped as reason:
        print(f"SKIPPED {reason}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
