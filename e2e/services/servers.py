"""The servers that weir may stand on, each with data of its own on private ports of 127.0.0.1.

A server class says what it lacks on this machine (`missing`), starts, waits until it answers, names its address for
tests (`environment`), and can be killed, stopped in its tracks and restarted by its processes.
"""

import fcntl
import hashlib
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from process import Process, Trouble, can_enter, free_port, has_listener, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(ROOT, "build", "services")
START_TRIES = 3  # A port that was free may be taken before the server has it.
TOOL_WAIT_S = 60
FETCH_WAIT_S = 300
CLUSTER_WAIT_S = 30
PROXY_LIFE_S = 86_400


def _tool(command, **options):
    """Runs a helper program to its end; its output matters only when it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=options.pop("timeout", TOOL_WAIT_S), check=False, **options)
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        raise Trouble(f"{' '.join(command)} ended with {done.returncode}:\n{text[-2000:]}")
    return text


def ask_redis(port, *words):
    """One command to a Redis, its answer as text; None if it does not answer."""
    request = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2.0) as connection:
            connection.sendall(request.encode())
            data = connection.recv(65536)
            if data.startswith(b"$"):
                head, _, rest = data.partition(b"\r\n")
                while len(rest) < int(head[1:]) + 2:
                    part = connection.recv(65536)
                    if not part:
                        return None
                    rest += part
                data = rest
            return data.decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


class Server:
    """What all have in common. `processes` are in the order of their start."""

    name = ""

    def __init__(self, folder, dies_with_parent=True, on_change=lambda: None):
        self.folder = os.path.join(folder, self.name)
        self.dies_with_parent = dies_with_parent
        self.on_change = on_change
        self.processes = []
        self.outer_folders = []  # What it had to put elsewhere.
        os.makedirs(self.folder)

    @classmethod
    def missing(cls):
        """What keeps it from running here, as a sentence; None when nothing does."""
        return None

    def environment(self):
        raise NotImplementedError

    def start(self):
        for left in reversed(range(START_TRIES)):
            try:
                self._start()
                return self
            except Trouble:
                self.stop()
                if left == 0:
                    raise
        return self

    def _start(self):
        raise NotImplementedError

    def _process(self, name, command, **options):
        process = Process(name, command, options.pop("folder", self.folder), dies_with_parent=self.dies_with_parent,
                          on_change=self.on_change, **options)
        self.processes.append(process)
        return process.start()

    def stop(self):
        for process in reversed(self.processes):
            process.stop()
        self.processes.clear()
        for folder in self.outer_folders:
            shutil.rmtree(folder, ignore_errors=True)
        self.outer_folders.clear()


class Redis(Server):
    """One Redis that keeps nothing on disk and evicts nothing."""

    name = "redis"

    @classmethod
    def missing(cls):
        return None if shutil.which("redis-server") else "there is no redis-server (package redis-server)"

    def _start(self):
        self.port = free_port()
        self._process("redis", ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                                "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", self.folder])
        self.wait_ready()

    def wait_ready(self):
        self.processes[0].wait_ready(lambda: ask_redis(self.port, "PING") == "+PONG\r\n")

    def restart(self):
        self.processes[0].start()
        self.wait_ready()

    def environment(self):
        return {"WEIR_TEST_REDIS": f"127.0.0.1:{self.port}"}


class RedisCluster(Server):
    """Six nodes: three primaries, a replica each, ready to fail over."""

    name = "cluster"
    nodes = 6

    @classmethod
    def missing(cls):
        if not shutil.which("redis-cli"):
            return "there is no redis-cli (package redis-tools)"
        return Redis.missing()

    def _start(self):
        self.ports = []
        for number in range(self.nodes):
            port = free_port()
            folder = os.path.join(self.folder, f"node-{number}")
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            # A replica that still waits for its first copy cannot take over: the copy must begin at once.
            self._process(f"node-{number}", [
                "redis-server", "--port", str(port), "--cluster-port", str(free_port()), "--bind", "127.0.0.1",
                "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0",
                "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", folder],
                folder=folder)
            self.ports.append(port)
        for process, port in zip(self.processes, self.ports):
            process.wait_ready(lambda at=port: ask_redis(at, "PING") == "+PONG\r\n")
        _tool(["redis-cli", "--cluster", "create", *(f"127.0.0.1:{port}" for port in self.ports),
               "--cluster-replicas", "1", "--cluster-yes"])
        self.wait_ready()

    def wait_ready(self):
        # Asked at once after the creation, some nodes still say that the cluster is down.
        for port in self.ports:
            until(lambda at=port: "cluster_state:ok" in (ask_redis(at, "CLUSTER", "INFO") or ""), CLUSTER_WAIT_S,
                  f"node {port} finding the cluster well")
            until(lambda at=port: self._is_in_step(ask_redis(at, "INFO", "replication") or ""), CLUSTER_WAIT_S,
                  f"node {port} being a primary, or in step with its own")

    @staticmethod
    def _is_in_step(info):
        return "role:master" in info or "master_link_status:up" in info

    def restart(self, number):
        self.processes[number].start()
        self.processes[number].wait_ready(lambda: ask_redis(self.ports[number], "PING") == "+PONG\r\n")

    def environment(self):
        return {"WEIR_TEST_REDIS_CLUSTER": ",".join(f"127.0.0.1:{port}" for port in self.ports)}


class Postgres(Server):
    """One PostgreSQL that syncs its commits. It refuses to run as root, so root lends it the user postgres."""

    name = "postgres"

    @classmethod
    def _program(cls, name):
        found = shutil.which(name)
        if found:
            return found
        base = "/usr/lib/postgresql"
        versions = sorted((v for v in os.listdir(base) if v.isdigit()), key=int) if os.path.isdir(base) else []
        paths = [os.path.join(base, version, "bin", name) for version in reversed(versions)]
        return next((path for path in paths if os.access(path, os.X_OK)), None)

    @classmethod
    def missing(cls):
        if not cls._program("initdb") or not cls._program("postgres"):
            return "there is no initdb (package postgresql-15)"
        if os.getuid() == 0:
            try:
                pwd.getpwnam("postgres")
            except KeyError:
                return "root cannot run PostgreSQL, and there is no user postgres to lend it"
        return None

    def _start(self):
        self.port = free_port()
        user = "postgres" if os.getuid() == 0 else None
        home = self.folder
        if user and not can_enter(self.folder):
            home = tempfile.mkdtemp(prefix="weir-postgres-")
            self.outer_folders.append(home)
        if user:
            shutil.chown(home, user, user)
        data = os.path.join(home, "data")
        shutil.rmtree(data, ignore_errors=True)
        as_user = {"user": user, "group": user, "extra_groups": []} if user else {}
        _tool([self._program("initdb"), "-D", data, "-A", "trust", "-U", "weir", "--no-sync", "--locale=C",
               "--encoding=UTF8"], cwd=home, **as_user)
        self._process("postgres", [
            self._program("postgres"), "-D", data, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
            "-c", "unix_socket_directories=", "-c", "shared_buffers=64MB", "-c", "max_connections=60",
            "-c", "log_min_messages=warning"], folder=home, user=user, stop_signal=signal.SIGINT)
        self.wait_ready()

    def wait_ready(self):
        self.processes[0].wait_ready(lambda: self._answers())

    def _answers(self):
        """Asks for a session as any client does; only a server that has recovered gives one."""
        parameters = b"user\0weir\0database\0postgres\0\0"
        message = struct.pack("!ii", len(parameters) + 8, 196608) + parameters
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2.0) as connection:
                connection.sendall(message)
                return connection.recv(1) == b"R"
        except OSError:
            return False

    def restart(self):
        """A server that was killed leaves processes that notice it a moment later; until then a new one refuses."""
        deadline = time.monotonic() + 10.0
        while True:
            self.processes[0].start()
            try:
                return self.wait_ready()
            except Trouble as trouble:
                if "still in use" not in str(trouble) or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def environment(self):
        return {"WEIR_TEST_POSTGRES": f"host=127.0.0.1 port={self.port} user=weir dbname=postgres"}


class Kafka(Server):
    """One broker that is its own controller (KRaft), from the packages in kafka/pom.xml.

    Listeners: plain; plain behind a chaos proxy, obeyed through its control port; TLS with a certificate of its own;
    and SASL PLAIN for the user `guest`, who is allowed nothing.
    """

    name = "kafka"
    pom = os.path.join(HERE, "kafka", "pom.xml")
    jars = os.path.join(BUILD, "kafka")
    guest_secret = "guest-secret"

    @classmethod
    def missing(cls):
        if not shutil.which("java"):
            return "there is no java (package openjdk-17-jre-headless)"
        if not shutil.which("openssl"):
            return "there is no openssl (package openssl)"
        try:
            cls.prepare()
        except (Trouble, OSError, subprocess.TimeoutExpired) as trouble:
            return f"the broker's packages cannot be had: {str(trouble).strip().splitlines()[-1]}"
        return None

    @classmethod
    def prepare(cls):
        """Copies the broker's packages into the build folder, once for each pom.xml."""
        with open(cls.pom, "rb") as file:
            wanted = hashlib.sha256(file.read()).hexdigest()
        os.makedirs(cls.jars, exist_ok=True)
        with open(os.path.join(BUILD, "kafka.lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # Its holder waits at most FETCH_WAIT_S.
            marker = os.path.join(cls.jars, "complete")
            if os.path.exists(marker):
                with open(marker, encoding="ascii") as file:
                    if file.read() == wanted:
                        return
            if not shutil.which("mvn"):
                raise Trouble("there is no mvn (package maven)")
            shutil.rmtree(cls.jars)
            os.makedirs(cls.jars)
            _tool(["mvn", "-q", "-B", "-f", cls.pom, "dependency:copy-dependencies", f"-DoutputDirectory={cls.jars}"],
                  timeout=FETCH_WAIT_S)
            with open(marker, "w", encoding="ascii") as file:
                file.write(wanted)

    def _java(self, *arguments):
        # Short runs: no time to compile well, little memory.
        return ["java", "-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", os.path.join(self.jars, "*"), *arguments]

    def _start(self):
        self.port, self.behind_port, self.proxied_port = free_port(), free_port(), free_port()
        self.tls_port, self.sasl_port, self.control_port = free_port(), free_port(), free_port()
        controller = free_port()
        self.certificate = os.path.join(self.folder, "certificate.pem")
        data = os.path.join(self.folder, "data")
        shutil.rmtree(data, ignore_errors=True)
        self._make_certificate()
        listeners = {"PLAIN": (self.port, self.port), "PROXIED": (self.behind_port, self.proxied_port),
                     "TLS": (self.tls_port, self.tls_port), "SASL": (self.sasl_port, self.sasl_port)}
        settings = {
            "node.id": 1,
            "process.roles": "broker,controller",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": ",".join([f"{n}://127.0.0.1:{p}" for n, (p, _) in listeners.items()]
                                  + [f"CONTROLLER://127.0.0.1:{controller}"]),
            "advertised.listeners": ",".join(f"{n}://127.0.0.1:{p}" for n, (_, p) in listeners.items()),
            "listener.security.protocol.map":
                "PLAIN:PLAINTEXT,PROXIED:PLAINTEXT,TLS:SSL,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAIN",
            "listener.name.tls.ssl.keystore.type": "PEM",
            "listener.name.tls.ssl.keystore.location": os.path.join(self.folder, "key_and_certificate.pem"),
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl.plain.sasl.jaas.config":
                "org.apache.kafka.common.security.plain.PlainLoginModule required "
                f"user_guest=\"{self.guest_secret}\";",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "log.dirs": data,
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 1000,
            "log.flush.offset.checkpoint.interval.ms": 1000,
        }
        path = os.path.join(self.folder, "server.properties")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        _tool(self._java("kafka.tools.StorageTool", "format", "-t", "d2VpciB0ZXN0cyBvbmx5IQ", "-c", path),
              cwd=self.folder)
        self._process("kafka", self._java("kafka.Kafka", path))
        proxy = self._process("kafka-proxy", [
            sys.executable, "-B", os.path.join(HERE, "chaos_proxy.py"), "--target", f"127.0.0.1:{self.behind_port}",
            "--listen", str(self.proxied_port), "--control", str(self.control_port), "--seconds", str(PROXY_LIFE_S)])
        proxy.wait_ready(lambda: has_listener(self.control_port))
        self.wait_ready()

    def _make_certificate(self):
        key = os.path.join(self.folder, "key.pem")
        _tool(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-days", "30", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
               "-keyout", key, "-out", self.certificate])
        with open(os.path.join(self.folder, "key_and_certificate.pem"), "w", encoding="ascii") as out:
            for path in (key, self.certificate):
                with open(path, encoding="ascii") as file:
                    out.write(file.read())

    def wait_ready(self):
        self.processes[0].wait_ready(lambda: self._brokers() > 0)

    def _brokers(self):
        """How many brokers it names when asked for its metadata (version 1, no topics); 0 if it does not answer."""
        client = b"weir-services"
        body = struct.pack("!hhih", 3, 1, 1, len(client)) + client + struct.pack("!i", 0)
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2.0) as connection:
                connection.sendall(struct.pack("!i", len(body)) + body)
                head = b""
                while len(head) < 12:
                    part = connection.recv(12 - len(head))
                    if not part:
                        return 0
                    head += part
                return struct.unpack("!iii", head)[2]
        except OSError:
            return 0

    def restart(self):
        self.processes[0].start()
        self.wait_ready()

    def environment(self):
        return {"WEIR_TEST_KAFKA": f"127.0.0.1:{self.port}",
                "WEIR_TEST_KAFKA_PROXIED": f"127.0.0.1:{self.proxied_port}",
                "WEIR_TEST_KAFKA_PROXY_CONTROL": f"127.0.0.1:{self.control_port}",
                "WEIR_TEST_KAFKA_TLS": f"127.0.0.1:{self.tls_port}",
                "WEIR_TEST_KAFKA_CA": self.certificate,
                "WEIR_TEST_KAFKA_SASL": f"127.0.0.1:{self.sasl_port}",
                "WEIR_TEST_KAFKA_SASL_SECRET": self.guest_secret}


KINDS = {kind.name: kind for kind in (Redis, RedisCluster, Postgres, Kafka)}
