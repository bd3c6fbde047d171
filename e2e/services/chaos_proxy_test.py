"""The chaos proxy does what it says, and the same again under the same seed."""

import socket
import threading
import time
import unittest

import chaos_proxy
from chaos_proxy import ChaosProxy
from process import until

WAIT_S = 10.0


class Echo:
    """A server that sends back what it gets and remembers how much that was: in all, and by ended connection."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.received = 0
        self.ended = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        total = 0
        with connection:
            try:
                while data := connection.recv(65536):
                    total += len(data)
                    self.received += len(data)
                    connection.sendall(data)
            except OSError:
                pass
        self.ended.append(total)

    def close(self):
        self.listener.close()


class ChaosProxyTest(unittest.TestCase):

    def setUp(self):
        self.echo = Echo()
        self.addCleanup(self.echo.close)

    def proxy(self, **options):
        proxy = ChaosProxy(("127.0.0.1", self.echo.port), **options)
        self.addCleanup(proxy.close)
        return proxy

    def connect(self, proxy):
        connection = socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT_S)
        self.addCleanup(connection.close)
        return connection

    @staticmethod
    def read(connection, size):
        """`size` bytes, or fewer if the connection ends before."""
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                break
            data += part
        return data

    def test_without_faults_everything_passes(self):
        connection = self.connect(self.proxy())
        data = bytes(range(256)) * 2000
        threading.Thread(target=connection.sendall, args=(data,)).start()
        self.assertEqual(self.read(connection, len(data)), data)

    def test_a_lost_answer_is_a_request_that_was_done(self):
        proxy = self.proxy()
        proxy.set(cut_down=0)
        connection = self.connect(proxy)
        connection.sendall(b"question")
        self.assertEqual(self.read(connection, 8), b"")
        until(lambda: self.echo.ended, WAIT_S, "the server's end of the connection")
        self.assertEqual(self.echo.ended, [8])

    def test_a_cut_lets_exactly_so_many_bytes_through(self):
        proxy = self.proxy()
        proxy.set(cut_up=5)
        connection = self.connect(proxy)
        connection.sendall(b"question")
        self.assertIn(self.read(connection, 8), (b"", b"quest"))  # The echo may lose the race against the cut.
        until(lambda: self.echo.ended, WAIT_S, "the server's end of the connection")
        self.assertEqual(self.echo.ended, [5])

    def test_a_black_hole_answers_nothing_and_tells_nobody(self):
        proxy = self.proxy()
        proxy.set(blackhole_down=1)
        connection = self.connect(proxy)
        connection.sendall(b"question")
        connection.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            connection.recv(1)
        self.assertEqual(self.echo.received, 8)
        proxy.heal()
        connection.settimeout(WAIT_S)
        connection.sendall(b"again")
        self.assertEqual(self.read(connection, 5), b"again", "what was swallowed stays swallowed")

    def test_a_reset_is_no_orderly_end(self):
        proxy = self.proxy()
        connection = self.connect(proxy)
        connection.sendall(b"x")
        self.assertEqual(self.read(connection, 1), b"x")
        proxy.set(reset=1)
        proxy.cut_all()
        with self.assertRaises(ConnectionResetError):
            connection.recv(1)

    def test_refused_connections_end_at_once(self):
        proxy = self.proxy()
        proxy.set(refuse=1)
        self.assertEqual(self.read(self.connect(proxy), 1), b"")
        self.assertEqual(self.echo.received, 0)

    def test_latency_delays_both_directions(self):
        proxy = self.proxy()
        proxy.set(latency_ms=60)
        connection = self.connect(proxy)
        begin = time.monotonic()
        connection.sendall(b"x")
        self.read(connection, 1)
        self.assertGreaterEqual(time.monotonic() - begin, 0.12)

    def test_the_same_seed_cuts_at_the_same_places(self):
        def lengths(seed):
            proxy = self.proxy(seed=seed)
            proxy.set(cut_chance=0.7, cut_bytes_max=100)
            got = []
            for _ in range(12):
                before = len(self.echo.ended)
                connection = self.connect(proxy)
                connection.sendall(b"x" * 200)
                answered = len(self.read(connection, 200))
                connection.close()
                until(lambda: len(self.echo.ended) > before, WAIT_S, "the server's end of the connection")
                asked = self.echo.ended[before]
                got.append((asked, answered if asked == 200 else None))  # Cut on the way up, the answer loses a race.
            return got
        first = lengths(42)
        self.assertEqual(lengths(42), first)
        self.assertGreater(len(set(first)), 3)
        self.assertNotEqual(lengths(43), first)

    def test_the_control_port_obeys_and_refuses(self):
        proxy = self.proxy(control_port=0)
        with socket.create_connection(("127.0.0.1", proxy.control_port), timeout=WAIT_S) as control:
            lines = control.makefile("rw", newline="\n")
            for said, heard in (("cut_down=0", "ok"), ("no_such=1", "refused: no fault"), ("cut_chance=2", "refused"),
                                ("latency_ms=abc", "refused"), ("heal", "ok"), ("cut", "ok")):
                lines.write(said + "\n")
                lines.flush()
                self.assertTrue(lines.readline().startswith(heard), said)
        self.assertEqual(proxy.faults.cut_down, -1)

    def test_there_is_a_bound_of_connections(self):
        bound, chaos_proxy.CONNECTIONS_MAX = chaos_proxy.CONNECTIONS_MAX, 2
        try:
            proxy = self.proxy()
            kept = [self.connect(proxy) for _ in range(2)]
            for connection in kept:
                connection.sendall(b"x")
                self.assertEqual(self.read(connection, 1), b"x")
            self.assertEqual(self.read(self.connect(proxy), 1), b"")
        finally:
            chaos_proxy.CONNECTIONS_MAX = bound


if __name__ == "__main__":
    unittest.main(verbosity=2)
