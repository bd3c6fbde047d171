"""Servers of the tests come up, can be ill-treated, and leave nothing behind, not even when their starter is killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import process
import services
from process import Process, Trouble, end, is_alive, start_time, until
from servers import BUILD, KINDS, ask_redis
from services import Services

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "services.py")


def needs(*names):
    """Leaves a test out, and says so where the summary of all tests finds it, if a server cannot run here."""
    def decorate(test):
        def run(self):
            reason = services.skip_reason(names)
            if reason:
                print(f"SKIPPED: {self.id()}: {reason}", flush=True)
                raise unittest.SkipTest(reason)
            test(self)
        run.__name__ = test.__name__
        return run
    return decorate


class ProcessTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weir-process-")
        self.addCleanup(shutil.rmtree, self.folder)

    def process(self, *command, **options):
        made = Process("one", list(command), self.folder, **options)
        self.addCleanup(made.kill)
        return made

    def test_a_process_that_ends_at_its_start_is_reported_with_its_log(self):
        made = self.process("sh", "-c", "echo this is why; exit 3").start()
        with self.assertRaisesRegex(Trouble, "this is why"):
            made.wait_ready(lambda: False, 5)

    def test_one_that_does_not_hear_is_killed(self):
        made = self.process("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done").start()
        until(lambda: "up" in made.log_end(), 5, "the trap")
        patience, process.STOP_WAIT_S = process.STOP_WAIT_S, 0.3
        try:
            made.stop()
        finally:
            process.STOP_WAIT_S = patience
        self.assertFalse(made.is_alive())

    def test_one_that_was_paused_can_be_stopped(self):
        made = self.process("sleep", "60").start()
        made.pause()
        made.stop()
        self.assertFalse(made.is_alive())

    def test_a_pid_that_passed_to_another_is_not_ended(self):
        made = self.process("sleep", "60").start()
        pid, started = made.identity
        end((pid, started - 1), signal.SIGKILL)
        self.assertTrue(made.is_alive())
        end((pid, started), signal.SIGTERM)
        made.stop()
        self.assertFalse(is_alive((pid, started)))


class ServicesTest(unittest.TestCase):

    @needs("redis")
    def test_redis_comes_back_empty_after_a_kill(self):
        with Services(["redis"]) as started:
            redis = started["redis"]
            self.assertEqual(ask_redis(redis.port, "SET", "a", "1"), "+OK\r\n")
            redis.processes[0].pause()
            redis.processes[0].resume()
            self.assertEqual(ask_redis(redis.port, "GET", "a"), "1\r\n")
            redis.processes[0].kill()
            self.assertIsNone(ask_redis(redis.port, "PING"))
            redis.restart()
            self.assertEqual(ask_redis(redis.port, "DBSIZE"), ":0\r\n")
            folder = started.folder
        self.assertFalse(os.path.exists(folder))

    @needs("cluster")
    def test_a_replica_takes_over_when_its_primary_is_killed(self):
        with Services(["cluster"]) as started:
            cluster = started["cluster"]
            primary = next(n for n, port in enumerate(cluster.ports)
                           if "role:master" in ask_redis(port, "INFO", "replication"))
            cluster.processes[primary].kill()
            others = [port for n, port in enumerate(cluster.ports) if n != primary]
            until(lambda: sum("role:master" in ask_redis(port, "INFO", "replication") for port in others) == 3, 20,
                  "a replica's promotion")
            cluster.restart(primary)
            until(lambda: "role:slave" in ask_redis(cluster.ports[primary], "INFO", "replication"), 20,
                  "the old primary following")

    @needs("postgres")
    def test_postgres_recovers_after_a_kill(self):
        with Services(["postgres"]) as started:
            postgres = started["postgres"]
            postgres.processes[0].kill()
            postgres.restart()

    @needs("kafka")
    def test_kafka_recovers_after_a_kill(self):
        with Services(["kafka"]) as started:
            kafka = started["kafka"]
            kafka.processes[0].kill()
            kafka.restart()

    @needs("redis")
    def test_what_a_killed_starter_left_is_gone_after_the_next_start(self):
        starter = subprocess.Popen([sys.executable, "-B", PROGRAM, "run", "redis", "--", "sh", "-c",
                                    "echo up; sleep 60"], stdout=subprocess.PIPE, start_new_session=True)
        try:
            self.assertEqual(starter.stdout.readline(), b"up\n")
            folder = next(folder for folder in services.run_folders()
                          if (services.state_of(folder) or {}).get("starter") == [starter.pid, start_time(starter.pid)])
            servers = services.state_of(folder)["processes"]
            self.assertEqual(len(servers), 1)
            os.killpg(starter.pid, signal.SIGKILL)
            starter.wait(10)
        finally:
            starter.stdout.close()
        until(lambda: not is_alive(servers[0][1:]), 10, "the server's end with its starter")
        services.sweep()
        self.assertFalse(os.path.exists(folder))

    @needs("redis")
    def test_start_leaves_servers_that_stop_ends(self):
        data = os.path.join(BUILD, f"kept-{os.getpid()}")
        begun = subprocess.run([sys.executable, "-B", PROGRAM, "start", "redis", "--data", data], check=True,
                               stdout=subprocess.PIPE, timeout=60)
        told = json.loads(begun.stdout)
        try:
            port = int(told["environment"]["WEIR_TEST_REDIS"].rpartition(":")[2])
            services.sweep()
            self.assertEqual(ask_redis(port, "PING"), "+PONG\r\n", "a sweep spares what was meant to stay")
        finally:
            subprocess.run([sys.executable, "-B", PROGRAM, "stop", "--data", data], check=True, timeout=60,
                           stdout=subprocess.DEVNULL)
        self.assertIsNone(ask_redis(port, "PING"))
        self.assertFalse(os.path.exists(data))

    @needs("redis")
    def test_run_gives_addresses_and_the_exit_code_of_the_command(self):
        done = subprocess.run([sys.executable, "-B", PROGRAM, "run", "redis", "--", "sh", "-c",
                               "test \"$WEIR_TEST_REDIS\" = \"$0\" && exit 7", "@WEIR_TEST_REDIS@"], check=False,
                              timeout=60)
        self.assertEqual(done.returncode, 7)

    @needs("redis")
    def test_run_ends_its_command_and_its_servers_when_it_is_told_to_stop(self):
        starter = subprocess.Popen([sys.executable, "-B", PROGRAM, "run", "redis", "--", "sh", "-c",
                                    "echo $WEIR_TEST_REDIS; exec sleep 60"], stdout=subprocess.PIPE)
        with starter.stdout:
            port = int(starter.stdout.readline().decode().strip().rpartition(":")[2])
            begin = time.monotonic()
            starter.terminate()
            starter.wait(20)
        self.assertLess(time.monotonic() - begin, 15)
        self.assertIsNone(ask_redis(port, "PING"))

    def test_a_missing_server_is_a_skip_with_a_reason(self):
        environment = {**os.environ, "PATH": ""}
        done = subprocess.run([sys.executable, "-B", PROGRAM, "run", "redis", "--", "false"], check=False,
                              env=environment, stdout=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout.decode(), r"^SKIPPED: false: redis: there is no redis-server")

    def test_every_server_says_what_it_lacks_or_nothing(self):
        for kind in KINDS.values():
            reason = kind.missing()
            self.assertTrue(reason is None or reason.startswith(("there is no", "root cannot", "the broker's")), reason)


if __name__ == "__main__":
    unittest.main(verbosity=2)
