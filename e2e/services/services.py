#!/usr/bin/env python3
"""Starts the servers that weir may stand on, for tests and by hand: `./dev services`.

    services.py run redis kafka -- COMMAND...   starts them, runs the command, stops them; exit code of the command
    services.py start [NAME...] [--data DIR]    starts them and leaves them; prints addresses as JSON
    services.py stop [--data DIR]               stops what `start` left, or what is in this folder
    services.py prepare [NAME...]               fetches what they need, starts nothing

Names: redis cluster postgres kafka; none means all. The command finds the addresses in its environment as WEIR_TEST_…,
and in its arguments where they say @WEIR_TEST_…@.
Everything lies in a folder of its own under build/services; what a starter that was killed left behind is ended, by
pid and start time, by the next one.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from process import Trouble, end, is_alive, start_time
from servers import BUILD, KINDS

STATE = "state.json"
STOP_SIGNALS = {"postgres": signal.SIGINT}
BARE_FOLDER_S = 60  # A folder without a state is a starter that died at once; a live one has written it by then.


class Services:
    """Some servers, started together. As a context manager it leaves nothing behind."""

    def __init__(self, names, data=None, stays=False):
        os.makedirs(BUILD, exist_ok=True)
        sweep()
        if data:
            os.makedirs(data)
        self.folder = os.path.abspath(data or tempfile.mkdtemp(prefix="run-", dir=BUILD))
        self.stays = stays
        self.servers = {}
        self._record()
        try:
            for name in names:
                self.servers[name] = KINDS[name](self.folder, dies_with_parent=not stays, on_change=self._record)
                self.servers[name].start()
        except BaseException:
            self.stop()
            raise
        self._record()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def __getitem__(self, name):
        return self.servers[name]

    def environment(self):
        merged = {}
        for server in self.servers.values():
            merged.update(server.environment())
        return merged

    def stop(self):
        for server in reversed(self.servers.values()):
            server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _record(self):
        """Writes down what runs, so that others can stop it if this process is killed."""
        if not os.path.isdir(self.folder):
            return
        running = [[process.name, *process.identity] for server in self.servers.values()
                   for process in server.processes if process.is_alive()]
        outer = [folder for server in self.servers.values() for folder in server.outer_folders]
        state = {"starter": None if self.stays else [os.getpid(), start_time(os.getpid())], "processes": running,
                 "outer_folders": outer}
        path = os.path.join(self.folder, STATE)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(state, file)
        os.replace(path + ".new", path)


def state_of(folder):
    try:
        with open(os.path.join(folder, STATE), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def end_all_in(folder):
    """Ends every process that the folder's state names, last started first, and removes the folder."""
    state = state_of(folder) or {"processes": [], "outer_folders": []}
    for name, pid, started in reversed(state["processes"]):
        end((pid, started), STOP_SIGNALS.get(name, signal.SIGTERM))
    for outer in state["outer_folders"]:
        shutil.rmtree(outer, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def run_folders():
    if not os.path.isdir(BUILD):
        return []
    return [os.path.join(BUILD, name) for name in sorted(os.listdir(BUILD)) if name.startswith("run-")]


def sweep():
    """Ends what starters that are no more have left behind."""
    for folder in run_folders():
        state = state_of(folder)
        try:
            is_bare = state is None and time.time() - os.stat(folder).st_mtime > BARE_FOLDER_S
        except OSError:
            continue  # Another sweep was quicker.
        if is_bare or (state and state["starter"] and not is_alive(state["starter"])):
            end_all_in(folder)


def skip_reason(names):
    reasons = [(name, KINDS[name].missing()) for name in names]
    return "; ".join(f"{name}: {reason}" for name, reason in reasons if reason)


def run(names, command):
    reason = skip_reason(names)
    if reason:
        print(f"SKIPPED: {os.path.basename(command[0])}: {reason}", flush=True)
        return 0

    def leave(number, _):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    with Services(names) as services:
        environment = services.environment()
        for name, value in environment.items():
            command = [word.replace(f"@{name}@", value) for word in command]
        child = subprocess.Popen(command, env={**os.environ, **environment})
        try:
            return child.wait()
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()


def start(names, data):
    reason = skip_reason(names)
    if reason:
        print(f"SKIPPED: {reason}", flush=True)
        return 1
    services = Services(names, data, stays=True)
    processes = {p.name: p.identity[0] for server in services.servers.values() for p in server.processes}
    print(json.dumps({"data": services.folder, "environment": services.environment(), "pids": processes}, indent=1))
    return 0


def stop(data):
    for folder in [data] if data else run_folders():
        state = state_of(folder)
        if data or (state and not state["starter"]):
            end_all_in(folder)
            print(f"stopped {folder}")
    sweep()
    return 0


def main(arguments):
    command = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "start", "stop", "prepare"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {' '.join(KINDS)}; none: all")
    parser.add_argument("--data", help="the folder, which must not exist yet; for `stop`: whose servers to stop")
    options = parser.parse_args(arguments)
    names = options.names or list(KINDS)
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        parser.error(f"no server {', '.join(unknown)}; there are: {', '.join(KINDS)}")
    if (options.verb == "run") != bool(command):
        parser.error("`run` needs `-- COMMAND`, and only `run` takes one")
    try:
        if options.verb == "run":
            return run(names, command)
        if options.verb == "start":
            return start(names, options.data)
        if options.verb == "stop":
            return stop(options.data)
        reason = skip_reason(names)
        print(f"SKIPPED: {reason}" if reason else "all there", flush=True)
        return 1 if reason else 0
    except Trouble as trouble:
        print(f"services: {trouble}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
