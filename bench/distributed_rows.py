"""The rows of several machines, each taken by a process of its own: see bench/distributed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import servers
from figures import Effort, Row

RUN = Path(__file__).resolve().parent / "distributed" / "run.py"
NAMES = ("distributed_contention", "distributed_sale", "distributed_record", "distributed_scripts",
         "distributed_reject", "distributed_winners", "distributed_classic")
ROW_WITHIN_S = 900  # All rows of one name; each of them takes less than three minutes.
STOP_WITHIN_S = 60


class Skipped(Exception):
    """The figure cannot be taken on this machine, and why."""


def taker(name: str):
    def take(work: Effort) -> list[Row]:
        command = [sys.executable, "-B", str(RUN), name, "--build", str(servers.build)]
        child = subprocess.Popen(command + (["--quick"] if work.is_quick else []), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        try:
            out, errors = child.communicate(timeout=ROW_WITHIN_S)
        except BaseException:
            child.send_signal(signal.SIGTERM)  # It stops what it has started.
            child.wait(STOP_WITHIN_S)
            raise
        lines = out.splitlines()
        reasons = [line.removeprefix("SKIPPED ") for line in lines if line.startswith("SKIPPED ")]
        rows = [Row(**json.loads(line.removeprefix("ROW "))) for line in lines if line.startswith("ROW ")]
        if reasons and not rows:
            raise Skipped(reasons[0])
        if child.returncode != 0:
            raise RuntimeError(f"after {len(rows)} rows {rows}: {errors[-800:]}")
        return rows
    return take


FIGURES = {name: taker(name) for name in NAMES}
