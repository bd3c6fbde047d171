#!/usr/bin/env python3
"""A TCP proxy that does to a connection what networks do: delays it, cuts it, swallows it, resets it.

By hand: `chaos_proxy.py --target 127.0.0.1:6379 --set latency_ms=50 --set cut_chance=0.1 --seed 7`. In tests it is a
class. What it does can be changed while it runs: by `set`, or by lines on the control port (`latency_ms=50`; the answer
is `ok`). What chance decides is decided by the seed and the number of the connection, so a run can be repeated.

Bounded: connections, bytes in its hands, time to live. A connection beyond the bound is closed at once.
"""

import argparse
import asyncio
import random
import socket
import struct
import sys
import threading

CONNECTIONS_MAX = 256
CHUNK_BYTES = 64 * 1024  # In hand for each direction of a connection.
LATENCY_MS_MAX = 60_000
LINES_MAX = 1000  # Of one control connection.
UP, DOWN = "up", "down"  # From the client to the server; from the server to the client.


class Faults:
    """What is wrong with the network at this moment. Every field has a text form, so that all can be set by name."""

    FIELDS = {
        "latency_ms": (int, 0, LATENCY_MS_MAX),  # Before each piece of data is passed on.
        "jitter_ms": (int, 0, LATENCY_MS_MAX),   # More, up to this, by chance.
        "cut_up": (int, -1, 1 << 40),            # The connection ends after so many bytes of this direction; -1: never.
        "cut_down": (int, -1, 1 << 40),          # 0: the request is done, and its answer never comes.
        "cut_chance": (float, 0.0, 1.0),         # A new connection is one that ends by chance ...
        "cut_bytes_max": (int, 1, 1 << 40),      # ... within this many bytes of either direction.
        "reset": (int, 0, 1),                    # Ends are resets; new connections are reset at once.
        "refuse": (int, 0, 1),                   # New connections are closed at once.
        "blackhole_up": (int, 0, 1),             # Data is taken, and goes nowhere; nobody is told.
        "blackhole_down": (int, 0, 1),
    }

    def __init__(self):
        self.latency_ms = self.jitter_ms = 0
        self.cut_up = self.cut_down = -1
        self.cut_chance, self.cut_bytes_max = 0.0, CHUNK_BYTES
        self.reset = self.refuse = self.blackhole_up = self.blackhole_down = 0

    def set(self, name, value):
        if name not in self.FIELDS:
            raise ValueError(f"no fault {name}; there are: {', '.join(self.FIELDS)}")
        kind, least, most = self.FIELDS[name]
        value = kind(value)
        if not least <= value <= most:
            raise ValueError(f"{name} is {least} to {most}")
        setattr(self, name, value)


class _Link:
    """One connection through the proxy and the two halves of it."""

    def __init__(self, proxy, number, client):
        self.proxy = proxy
        self.chance = random.Random(f"{proxy.seed}:{number}")
        self.writers = {DOWN: client}
        self.passed = {UP: 0, DOWN: 0}
        self.own_cut = {UP: -1, DOWN: -1}
        faults = proxy.faults
        if self.chance.random() < faults.cut_chance:
            self.own_cut[self.chance.choice((UP, DOWN))] = self.chance.randrange(faults.cut_bytes_max)

    async def run(self, reader):
        if self.proxy.faults.refuse or self.proxy.faults.reset:
            return
        try:
            server_reader, self.writers[UP] = await asyncio.wait_for(
                asyncio.open_connection(*self.proxy.target, limit=CHUNK_BYTES), 10.0)
        except (OSError, asyncio.TimeoutError):
            return
        halves = [asyncio.ensure_future(self._pump(reader, UP)), asyncio.ensure_future(self._pump(server_reader, DOWN))]
        try:
            await asyncio.wait(halves, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for half in halves:
                half.cancel()
            await asyncio.gather(*halves, return_exceptions=True)

    async def _pump(self, reader, direction):
        """Passes one direction on until an end, a cut or an error; the other half is ended with it."""
        try:
            while not self._is_cut(direction):
                data = await reader.read(CHUNK_BYTES)
                if not data:
                    return
                await self._delay()
                if getattr(self.proxy.faults, f"blackhole_{direction}"):
                    continue
                self.writers[direction].write(data[:self._room(direction)])
                await self.writers[direction].drain()
                self.passed[direction] += len(data)
        except (OSError, KeyError):
            return

    def _cuts(self, direction):
        common = getattr(self.proxy.faults, f"cut_{direction}")
        return [cut for cut in (common, self.own_cut[direction]) if cut >= 0]

    def _room(self, direction):
        return max(0, min(self._cuts(direction), default=1 << 62) - self.passed[direction])

    def _is_cut(self, direction):
        """Cut once more than so many bytes have come; `cut_down = 0` lets the request through and cuts its answer."""
        return any(self.passed[direction] > cut for cut in self._cuts(direction))

    async def _delay(self):
        faults = self.proxy.faults
        delay = faults.latency_ms + (self.chance.uniform(0, faults.jitter_ms) if faults.jitter_ms else 0)
        if delay:
            await asyncio.sleep(delay / 1000)

    def close(self):
        writers, self.writers = self.writers, {}  # A pump that still runs finds none, and ends.
        for writer in writers.values():
            if self.proxy.faults.reset and not writer.is_closing():
                # No lingering: the system sends a reset in place of an orderly end.
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            else:
                writer.close()


class ChaosProxy:
    """Listens on `port` (0: any) for `target` = (host, port). Runs on a thread of its own until `close`."""

    def __init__(self, target, seed=1, port=0, control_port=None):
        self.target = target
        self.seed = seed
        self.faults = Faults()
        self.accepted = 0
        self._links = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._serve, "127.0.0.1", port, limit=CHUNK_BYTES))
        self.port = self._server.sockets[0].getsockname()[1]
        self._control = None
        if control_port is not None:
            self._control = self._call(asyncio.start_server(self._obey, "127.0.0.1", control_port))
            self.control_port = self._control.sockets[0].getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def set(self, **faults):
        """Changes some faults for what follows, also on connections that are open."""
        for name, value in faults.items():
            self._on_loop(self.faults.set, name, value)

    def heal(self):
        self._on_loop(setattr, self, "faults", Faults())

    def cut_all(self):
        """Ends every open connection now."""
        self._on_loop(lambda: [link.close() for link in list(self._links)])

    def close(self):
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    def _on_loop(self, function, *arguments):
        async def call():
            return function(*arguments)
        return self._call(call())

    async def _end(self):
        for server in (self._server, self._control):
            if server:
                server.close()
        for link in list(self._links):
            link.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        self.accepted += 1
        link = _Link(self, self.accepted, writer)
        if len(self._links) >= CONNECTIONS_MAX:
            link.close()
            return
        self._links.add(link)
        try:
            await link.run(reader)
        except asyncio.CancelledError:
            pass  # The proxy ends.
        finally:
            self._links.discard(link)
            link.close()

    async def _obey(self, reader, writer):
        """Lines `name=value`, `heal` or `cut`, each answered by `ok` or by what is wrong."""
        try:
            for _ in range(LINES_MAX):
                line = (await reader.readline()).decode("ascii", "replace").strip()
                if not line:
                    break
                writer.write(f"{self._do(line)}\n".encode())
                await writer.drain()
        except (OSError, ValueError):
            pass
        finally:
            writer.close()

    def _do(self, line):
        try:
            if line == "heal":
                self.faults = Faults()
            elif line == "cut":
                for link in list(self._links):
                    link.close()
            else:
                name, _, value = line.partition("=")
                self.faults.set(name, value)
        except ValueError as trouble:
            return f"refused: {trouble}"
        return "ok"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True, metavar="HOST:PORT")
    parser.add_argument("--listen", type=int, default=0, metavar="PORT")
    parser.add_argument("--control", type=int, metavar="PORT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long it lives")
    options = parser.parse_args()
    host, _, port = options.target.rpartition(":")
    with ChaosProxy((host, int(port)), options.seed, options.listen, options.control) as proxy:
        for text in options.set:
            name, _, value = text.partition("=")
            proxy.set(**{name: value})
        print(f"listening on 127.0.0.1:{proxy.port}", flush=True)
        threading.Event().wait(options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
