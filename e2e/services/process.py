"""Server processes of a test: started with a log of their own, known by pid and start time, ended by nothing else.

A pid alone may have passed to a stranger by the time somebody stops it; together with the time at which the process
started it names one process for ever. Every wait here has a deadline.
"""

import ctypes
import os
import random
import signal
import socket
import subprocess
import time

START_WAIT_S = 30.0
STOP_WAIT_S = 10.0
# Below the range from which the system takes ports for outgoing connections, so that none of those is in the way.
PORTS = range(20000, 30000)
PORT_TRIES_MAX = 200
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Trouble(Exception):
    """A server that did not do what was asked of it, and the end of its log."""


def until(condition, seconds, what):
    """Asks `condition` until it is true and gives its value; raises Trouble after `seconds`."""
    deadline = time.monotonic() + seconds
    pause = 0.005
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Trouble(f"{what} did not come true within {seconds:g} s")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def free_port():
    """A port of this machine that nobody listens on at this moment."""
    for _ in range(PORT_TRIES_MAX):
        port = random.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Trouble(f"no free port in {PORTS.start} to {PORTS.stop - 1} after {PORT_TRIES_MAX} tries")


def start_time(pid):
    """When the process started, in ticks since boot; None if there is no such process, or only what is left of it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(identity):
    pid, started = identity
    return start_time(pid) == started


def end(identity, gently, seconds=STOP_WAIT_S):
    """Ends the process that bears this identity: first by the signal `gently`, after `seconds` by SIGKILL."""
    pid, _ = identity
    for number, patience in ((gently, seconds), (signal.SIGKILL, STOP_WAIT_S)):
        if not is_alive(identity):
            return
        os.kill(pid, signal.SIGCONT)  # A stopped process would not hear the signal.
        os.kill(pid, number)
        try:
            until(lambda: not is_alive(identity), patience, f"the end of process {pid}")
            return
        except Trouble:
            continue
    raise Trouble(f"process {pid} does not end")


class Process:
    """One server process. `on_change` is told after each start, so that a record of what runs is never behind."""

    def __init__(self, name, command, folder, *, user=None, environment=None, stop_signal=signal.SIGTERM,
                 dies_with_parent=True, on_change=lambda: None):
        self.name = name
        self.command = command
        self.folder = folder
        self.log_path = os.path.join(folder, f"{name}.log")
        self.user = user
        self.environment = environment
        self.stop_signal = stop_signal
        self.dies_with_parent = dies_with_parent
        self.on_change = on_change
        self.child = None
        self.identity = None

    def start(self):
        assert not self.is_alive(), f"{self.name} runs already"
        death_signal = signal.SIGQUIT if self.stop_signal == signal.SIGINT else signal.SIGKILL
        dies_with_parent = self.dies_with_parent

        def prepare():
            if dies_with_parent:
                _libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)

        as_user = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          cwd=self.folder, start_new_session=True, preexec_fn=prepare,
                                          env=self.environment, **as_user)
        self.identity = (self.child.pid, start_time(self.child.pid))
        self.on_change()
        return self

    def is_alive(self):
        return self.child is not None and self.child.poll() is None

    def log_end(self, lines=15):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                return "".join(file.readlines()[-lines:])
        except OSError:
            return ""

    def wait_ready(self, is_ready, seconds=START_WAIT_S):
        """Waits until `is_ready` is true; a process that ends instead is reported with its log."""
        def ready_or_dead():
            if not self.is_alive():
                raise Trouble(f"{self.name} ended at its start:\n{self.log_end()}")
            return is_ready()
        try:
            until(ready_or_dead, seconds, f"{self.name} answering")
        except Trouble as trouble:
            raise Trouble(f"{trouble}\n{self.log_end()}") from None

    def stop(self):
        """Asks it to end, and makes it end if it does not."""
        self._signal(signal.SIGCONT)
        self._signal(self.stop_signal)
        self._reap(STOP_WAIT_S)

    def kill(self):
        """Ends it at once, as a power cut of this one process."""
        self._signal(signal.SIGKILL)
        self._reap(0.0)

    def pause(self):
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        if self.is_alive():
            os.kill(self.child.pid, number)

    def _reap(self, patience):
        if self.child is None:
            return
        try:
            self.child.wait(patience)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait(STOP_WAIT_S)
        self.on_change()


def has_listener(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        return True
    except OSError:
        return False


def can_enter(path):
    """Whether any user of this machine can reach the folder."""
    path = os.path.abspath(path)
    while True:
        if not os.stat(path).st_mode & 0o001:
            return False
        parent = os.path.dirname(path)
        if parent == path:
            return True
        path = parent
