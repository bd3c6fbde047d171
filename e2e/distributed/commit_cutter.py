"""A line to PostgreSQL that breaks in the middle of a COMMIT: before the server has it, or before its answer is back.

What the client has to do is the same in both cases, because it cannot tell them apart.
"""

import socket
import threading

CHUNK_BYTES = 64 * 1024
CONNECT_WAIT_S = 5.0
BACKLOG = 64
# How the program runs its prepared statement of this name: no portal, then the name.
COMMIT = b"\0commit\0"


class CommitCutter:
    """Listens on `port` of 127.0.0.1 for a server of the same machine. While `every` is n, each n-th COMMIT of all
    connections is cut: in turn its answer is lost, or the COMMIT itself."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.every = 0
        self.lost_answers = 0
        self.lost_commits = 0
        self._commits = 0
        self._lock = threading.Lock()
        self._open = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)
        with self._lock:
            left = list(self._open)
        for one in left:
            self._end(one)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.server_port), timeout=CONNECT_WAIT_S)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._pass, args=(client, server, self._is_commit), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, None), daemon=True).start()

    def _is_commit(self, data):
        """"request", "answer" or nothing: what this piece of a client's words shall lose."""
        if COMMIT not in data:
            return None
        with self._lock:
            self._commits += 1
            if self.every == 0 or self._commits % self.every != 0:
                return None
            if self.lost_answers <= self.lost_commits:
                self.lost_answers += 1
                return "answer"
            self.lost_commits += 1
            return "request"

    def _pass(self, source, target, judge):
        tail = b""  # The word may lie across two pieces.
        try:
            while data := source.recv(CHUNK_BYTES):
                loss = judge(tail + data) if judge else None
                tail = b"" if COMMIT in tail + data else data[1 - len(COMMIT):]
                if loss == "request":
                    break
                if loss == "answer":
                    self._end(source)
                target.sendall(data)
                if loss == "answer":
                    return  # The server does what it was sent; who passes its answer on finds nobody, and ends it.
        except OSError:
            pass
        self._end(source)
        self._end(target)

    def _end(self, one):
        with self._lock:
            self._open.discard(one)
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()
