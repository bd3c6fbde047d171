"""What the benches ask of the machine: processes with an end, their CPU time and memory, free ports, the disk."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SYNC_BYTES = 4096


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(is_met, seconds: float, what: str, every_s: float = 0.002) -> None:
    end = time.monotonic() + seconds
    while not is_met():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {seconds} s")
        time.sleep(every_s)


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def run(command: list, seconds: float, environment: dict | None = None, codes: tuple = (0,)) -> str:
    """Runs a program to its end and gives its standard output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds,
                          env={**os.environ, **(environment or {})}, check=False)
    if done.returncode not in codes:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-800:]}{done.stdout[-200:]}")
    return done.stdout


class Folder:
    """A temporary folder beside the build, on the disk that is measured."""

    def __enter__(self) -> Path:
        (ROOT / "build" / "tmp").mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="bench-", dir=ROOT / "build" / "tmp"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Process:
    """A server of a bench. `cpu_s` counts user and system time of all its threads and its children."""

    def __init__(self, command: list, log: Path):
        with open(log, "ab") as out:
            self.popen = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=out, start_new_session=True)
        self.log = log

    @property
    def pid(self) -> int:
        return self.popen.pid

    def pids(self) -> list[int]:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]

    def cpu_s(self) -> float:
        ticks = 0
        for pid in self.pids():
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS_PER_S

    def rss_bytes(self) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("no VmRSS")

    def wait_for_port(self, port: int, seconds: float = 20) -> None:
        def is_up() -> bool:
            if self.popen.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log.read_text()[-800:]}")
            return is_listening(port)
        wait_until(is_up, seconds, "the server's port")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.send_signal(signal.SIGTERM)
        try:
            self.popen.wait(20)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


def sync_times_ms(folder: Path, count: int, per_second: float) -> list[float]:
    """How long a 4 KiB write and fdatasync take in a file that has its blocks already, at an even pace."""
    times = []
    page = os.urandom(SYNC_BYTES)
    path = folder / "sync.probe"
    path.write_bytes(bytes(SYNC_BYTES * 256))
    handle = os.open(path, os.O_WRONLY)
    os.fsync(handle)
    begin = time.perf_counter()
    for i in range(count):
        time.sleep(max(0.0, begin + i / per_second - time.perf_counter()))
        start = time.perf_counter()
        os.pwrite(handle, page, (i % 256) * SYNC_BYTES)
        os.fdatasync(handle)
        times.append((time.perf_counter() - start) * 1000)
    os.close(handle)
    path.unlink()
    return times


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def description() -> str:
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown processor")
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // (1024 * 1024)
    return f"{os.cpu_count()} × {model}, {memory} GiB, Linux {os.uname().release}"
