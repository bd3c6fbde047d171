"""The classic Java stack that the distributed figures stand beside: Spring, Redis, Kafka and PostgreSQL.

It is no part of this tree. The variable WEIR_PEERS names the folder that has it as `classic`, with its own programs
`peer` (build, start, stop) and `measure`, whose results are read here.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from stack import ROOT, Skipped, free_port

CACHE = ROOT / "build" / "classic"  # What was built and fetched once.
BUILD_WITHIN_S = 600
START_WITHIN_S = 150
CASE_WITHIN_S = 600


class Peer:
    """Built on the first use. Inside `with` its servers run on free ports; they leave nothing behind."""

    def __init__(self):
        peers = os.environ.get("WEIR_PEERS", "")
        if not peers:
            raise Skipped("no classic stack is given (--peers FOLDER or WEIR_PEERS)")
        self.folder = Path(peers) / "classic"
        if not (self.folder / "peer").exists():
            raise Skipped(f"{self.folder} has no program `peer`")
        for name in ("mvn", "java", "wrk", "nginx", "redis-server", "psql"):
            if not shutil.which(name):
                raise Skipped(f"the classic stack needs {name}")
        CACHE.mkdir(parents=True, exist_ok=True)
        self.environment = {**os.environ, "KAFKA_LIBS": str(CACHE / "kafka" / "libs"), "ROOT": str(CACHE)}
        if not (CACHE / "target" / "classic.jar").exists():
            self._run("build", BUILD_WITHIN_S)

    def _run(self, verb: str, seconds: float, *words) -> None:
        done = subprocess.run([self.folder / "peer", verb, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=seconds, env=self.environment, check=False)
        if done.returncode != 0:
            lines = [line for line in done.stdout.splitlines() if line.strip()]
            raise Skipped(f"`peer {verb}` ended with {done.returncode}: {' / '.join(lines[:6])[:900]}")

    def __enter__(self):
        # PostgreSQL runs as another user there, who may not see into this tree.
        self.home = Path(tempfile.mkdtemp(prefix="weir-classic-"))
        self.home.chmod(0o755)
        (self.home / "target").symlink_to(CACHE / "target")
        ports = {f"{name}_PORT": str(free_port()) for name in ("REDIS", "PG", "KAFKA", "APP")}
        self.environment.update(ports, ROOT=str(self.home))
        try:
            self._run("start", START_WITHIN_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run([self.folder / "peer", "stop"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=120, env=self.environment, check=False)
        self._stop_nginx()
        shutil.rmtree(self.home, ignore_errors=True)

    def _stop_nginx(self) -> None:
        """`measure` ends its nginx itself, unless it was cut off."""
        try:
            pid = int((self.home / "nginx" / "nginx.pid").read_text())
            if b"nginx" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGTERM)
        except (OSError, ValueError):
            return

    def measure(self, case: str, is_quick: bool) -> dict:
        effort = ["--runs", "1", "--secs", "1", "--warm", "3"] if is_quick else ["--runs", "3", "--secs", "4"]
        done = subprocess.run([sys.executable, "-B", self.folder / "measure", *effort, case], capture_output=True,
                              text=True, timeout=CASE_WITHIN_S, env=self.environment, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"measure {case} ended with {done.returncode}: {done.stderr[-800:]}")
        return json.loads((self.home / "results.json").read_text())

    def reject_us(self, case: str, is_quick: bool) -> tuple[dict[str, float], float]:
        """CPU-µs of every process for one refusal, the run in the middle; and how many times nginx's that is."""
        (runs,) = self.measure(case, is_quick).values()
        return _middle([{name: 1e6 * used / run["requests"] for name, used in run["cpu"].items()} for run in runs]), (
            statistics.median(run["scale"] for run in runs))

    def winner_us(self, is_quick: bool) -> dict[str, float]:
        """The same for one answer when everybody wins."""
        runs = next(runs for name, runs in self.measure("accept", is_quick).items() if "winners only" in name)
        return _middle([{name: 1e6 * used / run["seen"] for name, used in run["cpu"].items()} for run in runs])


def _middle(runs: list[dict[str, float]]) -> dict[str, float]:
    wanted = statistics.median_low(sum(run.values()) for run in runs)
    return next(run for run in runs if sum(run.values()) == wanted)
