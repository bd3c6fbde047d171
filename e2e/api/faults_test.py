"""What the machine does to a selling server: told to stop, out of disk, a failing disk, a locked file, a long pause."""

import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

import shop
from buying_test import parse_time
from exact_test import Crowd, claims
from shop import ORDER, PURCHASE, Shop, build_library, expect, request_bytes, run_weir, skip, until


class Load:
    """Buyers on a few connections who claim with keys until they are told to stop or the server is gone."""

    def __init__(self, server, item, prefix, lanes=3, batch=8):
        self.server, self.item, self.prefix, self.batch = server, item, prefix, batch
        self.accepted = {}   # order id: buyer
        self.unknown = []    # (buyer, key) whose claim may have been taken.
        self.refused = 0
        self.odd = []
        self.slowest_s = 0.0
        self.is_over = threading.Event()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(lane,)) for lane in range(lanes)]
        for thread in self.threads:
            thread.start()

    def run(self, lane):
        number = 0
        try:
            with self.server.connect(timeout=20) as connection:
                while not self.is_over.is_set():
                    buyers = [f"{self.prefix}-{lane}-{number + i}" for i in range(self.batch)]
                    number += self.batch
                    self.claim(connection, buyers)
        except OSError:
            pass  # The server has ended.

    def claim(self, connection, buyers):
        with self.lock:
            self.unknown += buyers
        begin = time.monotonic()
        connection.send(b"".join(request_bytes("POST", PURCHASE.format(self.item), self.server.token(buyer), None,
                                               [("Idempotency-Key", "k")]) for buyer in buyers))
        for buyer in buyers:
            answer = connection.read()
            with self.lock:
                self.slowest_s = max(self.slowest_s, time.monotonic() - begin)
                if answer.status == 202:
                    self.accepted[answer.json()["orderId"]] = buyer
                elif answer.status == 503:
                    if "retry-after" not in answer.headers:
                        self.odd.append(answer)
                    if "orderId" in answer.json():
                        continue  # It may have been taken: it stays unknown.
                    self.refused += 1
                elif answer.status == 410:
                    self.refused += 1
                else:
                    self.odd.append(answer)
                self.unknown.remove(buyer)

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(30)

    def check(self, test):
        """Every 202 is found; what was unknown has an answer now; the counts and the audit agree."""
        test.assertEqual(self.odd, [])
        with self.server.connect(timeout=30) as connection:
            for buyer in list(self.unknown):
                answer = connection.ask("POST", PURCHASE.format(self.item), self.server.token(buyer), None,
                                        [("Idempotency-Key", "k")])
                if answer.status == 202:
                    self.accepted[answer.json()["orderId"]] = buyer
                else:
                    test.assertEqual(answer.status, 410, answer)
            orders = list(self.accepted.items())
            for at in range(0, len(orders), 64):
                answers = connection.ask_all([request_bytes("GET", ORDER.format(order), self.server.token(buyer))
                                              for order, buyer in orders[at:at + 64]])
                for (order, _), answer in zip(orders[at:at + 64], answers):
                    test.assertEqual(expect(answer, 200).json()["orderId"], order)
        row = next(row for row in self.server.audit()["items"] if row["itemId"] == self.item)
        test.assertEqual(row["held"] + row["sold"], len(self.accepted))
        test.assertEqual(self.server.counts(self.item), (row["total"], row["free"], row["held"], row["sold"]))


class StopTest(unittest.TestCase):

    def test_F26_B073_told_to_stop_under_load_it_ends_well_and_keeps_every_202(self):
        rng = random.Random(26)
        loads, slowest = [], 0.0
        with Shop() as server:
            for number in range(20):
                server.start()
                server.make_sale(f"stop-{number}", units=100_000)
                load = Load(server, f"stop-{number}", f"b{number}")
                time.sleep(rng.uniform(0.05, 0.3))  # The moment is meant to be anywhere.
                code, seconds = server.stop()
                load.stop()
                self.assertEqual(code, 0, server.log()[-2000:])
                self.assertLessEqual(seconds, 10)
                slowest = max(slowest, seconds)
                loads.append(load)
            server.start()
            for load in loads:
                load.check(self)
        accepted = sum(len(load.accepted) for load in loads)
        print(f"20 stops, the slowest {slowest:.2f} s, {accepted} answers 202, each found", flush=True)
        self.assertGreater(accepted, 200)

    def test_F21_a_second_process_on_the_same_data_is_refused(self):
        with Shop() as server:
            server.start()
            second = run_weir("serve", "--data", server.data, "--http.listen", "127.0.0.1:0", "--ops.listen",
                              "127.0.0.1:0")
            self.assertEqual(second.returncode, 3, second)
            self.assertIn(str(server.process.pid), second.stderr)
            changed = server.cli("sale", "create", "--id", "s", "--opens-at", "now", "--closes-at", "+1h")
            self.assertEqual(changed.returncode, 3, changed)
            self.assertIn("--url", changed.stderr)
            expect(server.ask("GET", "/api/time"), 200)
            # The lock of a process that was killed refuses nobody.
            server.kill()
            server.start()
            self.assertEqual(server.stop()[0], 0)

    def test_a_busy_port_is_said_and_is_the_environments_fault(self):
        with Shop() as server, tempfile.TemporaryDirectory() as folder:
            server.start()
            second = run_weir("serve", "--data", folder, "--http.listen", f"127.0.0.1:{server.port}", "--ops.listen",
                              "127.0.0.1:0")
            self.assertEqual(second.returncode, 3, second)
            self.assertIn(str(server.port), second.stderr)

    def test_F68_a_long_pause_of_the_process_breaks_no_promise(self):
        with Shop() as server:
            server.start()
            server.make_sale("pause", units=100_000)
            server.make_sale("short", units=1, pay_within="2s")
            order = expect(server.buy("short", "ana"), 202).json()["orderId"]
            load = Load(server, "pause", "p")
            until(lambda: len(load.accepted) > 50)
            server.signal(signal.SIGSTOP)
            time.sleep(3)  # The pause itself.
            server.signal(signal.SIGCONT)
            seen = len(load.accepted)
            until(lambda: len(load.accepted) > seen + 50)
            load.stop()
            load.check(self)
            server.wait_for_status(order, "ana", "EXPIRED", 3)


class DiskTest(unittest.TestCase):

    def test_F51_B083_a_locked_ledger_loses_nothing_and_speed_returns(self):
        with Shop() as server:
            server.start()
            server.make_sale("locked", units=100_000)
            load = Load(server, "locked", "l")
            until(lambda: len(load.accepted) > 50)
            other = sqlite3.connect(os.path.join(server.data, "ledger.db"), isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            time.sleep(3)  # How long the other program holds it.
            stopped_at = len(load.accepted)
            other.execute("ROLLBACK")
            other.close()
            begin = time.monotonic()
            until(lambda: len(load.accepted) > stopped_at + 20)
            back_s = time.monotonic() - begin
            load.stop()
            load.check(self)
            print(f"after a lock of 3 s: selling again in {back_s:.2f} s, {load.refused} refused", flush=True)
            self.assertLessEqual(back_s, 2.0)

    def test_F50_B085_a_reader_that_stays_does_not_let_the_log_grow_for_ever(self):
        with Shop() as server:
            server.start()
            server.make_sale("log", units=100_000)
            reader = sqlite3.connect(os.path.join(server.data, "ledger.db"), isolation_level=None)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM flash_sale_order").fetchone()
            load = Load(server, "log", "r")
            until(lambda: len(load.accepted) > 1500, 30)
            path = os.path.join(server.data, "ledger.db-wal")
            with_reader = os.path.getsize(path)
            reader.execute("ROLLBACK")
            reader.close()
            sold = len(load.accepted)
            until(lambda: len(load.accepted) > sold + 1500, 30)
            load.stop()
            load.check(self)
            self.assertEqual(load.refused, 0)
            print(f"log: {with_reader} bytes with a reader, {os.path.getsize(path)} after it", flush=True)
            self.assertLess(os.path.getsize(path), 64 * 1024 * 1024)

    def test_F49_a_full_disk_pauses_selling_and_nothing_else(self):
        with Shop() as server:
            server.data = os.path.join(server.folder, "disk")
            os.mkdir(server.data)
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "weir-e2e", server.data],
                                     capture_output=True, text=True, check=False)
            if mounted.returncode != 0:
                skip(self, f"a small tmpfs cannot be mounted: {mounted.stderr.strip() or 'not allowed'}")
            try:
                self.fill_and_free(server)
            finally:
                server.kill()
                subprocess.run(["umount", server.data], check=False)

    def fill_and_free(self, server):
        server.start()
        server.make_sale("full", units=100_000)
        order = expect(server.buy("full", "early"), 202).json()["orderId"]
        payment = server.start_payment(order, "early")
        filler = os.path.join(server.data, "filler")
        with open(filler, "wb") as file:
            space = os.statvfs(server.data)
            free = space.f_bavail * space.f_frsize
            file.write(b"x" * max(0, free - 128 * 1024))
        load = Load(server, "full", "f", lanes=1, batch=4)
        until(lambda: load.refused > 20, 20, "claims to be refused")
        self.assertIn(server.operations("/readyz").status, (200, 503))
        self.assertEqual(server.order(order, "early").json()["status"], "PENDING")
        expect(server.ask("GET", "/api/flash-sales/items/full"), 200)
        server.complete(payment)
        server.wait_for_status(order, "early", "PAID")
        refused = expect(server.buy("full", "late"), 503, "UNAVAILABLE")
        self.assertIn("retry-after", refused.headers)
        os.unlink(filler)
        seen = len(load.accepted)
        until(lambda: len(load.accepted) > seen + 20, 10, "selling to be resumed")
        load.stop()
        load.accepted[order] = "early"
        load.check(self)

    def test_F53_a_ledger_from_an_old_copy_is_whole_and_opens_a_new_epoch(self):
        with Shop() as server:
            server.start()
            server.make_sale("copy", units=1000)
            early = expect(server.buy("copy", "early"), 202).json()["orderId"]
            copy = os.path.join(server.folder, "copy.db")
            with sqlite3.connect(os.path.join(server.data, "ledger.db")) as source, sqlite3.connect(copy) as target:
                source.backup(target)
            late = expect(server.buy("copy", "late"), 202).json()["orderId"]
            self.assertEqual(server.stop()[0], 0)
            with sqlite3.connect(copy) as database:
                before = database.execute("SELECT value FROM flash_sale_meta WHERE name = 'epoch'").fetchone()[0]
            for suffix in ("-wal", "-shm"):
                os.unlink(os.path.join(server.data, "ledger.db" + suffix))
            os.replace(copy, os.path.join(server.data, "ledger.db"))
            server.start()
            server.audit()
            self.assertEqual(server.order(early, "early").status, 200)
            self.assertEqual(server.order(late, "late").status, 404)
            with sqlite3.connect(os.path.join(server.data, "ledger.db")) as database:
                after = database.execute("SELECT value FROM flash_sale_meta WHERE name = 'epoch'").fetchone()[0]
            self.assertGreater(after, before)


class FailingDiskTest(unittest.TestCase):
    """The disk under the ledger fails on demand; see failing_disk.c."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weir-e2e-")
        cls.library = build_library("failing_disk", cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.control = os.path.join(self.folder.name, "control")
        self.shop = Shop(env={"LD_PRELOAD": self.library, "FAILING_DISK": self.control})
        self.addCleanup(self.shop.close)
        self.addCleanup(self.heal)
        self.shop.start()
        self.shop.make_sale("disk", units=100_000)

    def break_disk(self, kind, count):
        with open(self.control + ".new", "w", encoding="ascii") as file:
            file.write(f"{kind} {count:<12}")
        os.replace(self.control + ".new", self.control)

    def failures_left(self):
        with open(self.control, encoding="ascii") as file:
            return int((file.read().split() + ["0", "0"])[1])

    def heal(self):
        if os.path.exists(self.control):
            os.unlink(self.control)

    def test_F46_F47_after_a_failed_sync_or_write_every_answer_is_true(self):
        load = Load(self.shop, "disk", "d")
        for kind in ("sync", "write") * 4:
            seen = len(load.accepted)
            until(lambda seen=seen: len(load.accepted) > seen + 20)
            self.break_disk(kind, 1)
            until(lambda: self.failures_left() == 0, what=f"a failed {kind}")
            seen = len(load.accepted)
            until(lambda seen=seen: len(load.accepted) > seen + 20, what=f"selling after a failed {kind}")
        load.stop()
        self.assertGreaterEqual(self.shop.metric("flash_ledger_recoveries_total"), 1)
        load.check(self)
        print(f"8 failures: {len(load.accepted)} answers 202, {load.refused} refused", flush=True)

    def test_F46_a_disk_that_stays_broken_pauses_selling_until_it_is_well(self):
        load = Load(self.shop, "disk", "s", lanes=2, batch=2)
        until(lambda: len(load.accepted) > 20)
        self.break_disk("sync", 1_000_000)
        until(lambda: self.shop.operations("/readyz").status == 503, what="readyz to say no")
        answer = self.shop.buy("disk", "broken", key="k")
        expect(answer, 503, "UNAVAILABLE")
        self.heal()
        until(lambda: self.shop.operations("/readyz").status == 200, what="readyz to say yes")
        seen = len(load.accepted)
        until(lambda: len(load.accepted) > seen + 20)
        load.stop()
        # The claim that was refused meanwhile is answered now, under the same key, once.
        again = expect(self.shop.buy("disk", "broken", key="k"), 202).json()["orderId"]
        if "orderId" in answer.json():
            self.assertEqual(answer.json()["orderId"], again)
        load.accepted[again] = "broken"
        load.check(self)

    def test_F26_F46_told_to_stop_while_the_disk_is_broken_it_ends_when_it_is_well(self):
        organiser = self.shop.token("organiser", "organiser")
        self.break_disk("sync", 1_000_000)
        self.shop.ask("POST", "/api/admin/sales/disk/pause", organiser, {})
        until(lambda: self.shop.operations("/readyz").status == 503, what="readyz to say no")
        # The disk is well again while the server stops: the ledger recovers when the gate's thread has already ended.
        healing = threading.Timer(1.0, self.heal)
        healing.start()
        self.addCleanup(healing.join)
        code, seconds = self.shop.stop(20)
        self.assertEqual(code, 0, self.shop.log()[-2000:])
        self.assertLessEqual(seconds, 11)

    def test_F47_a_failed_commit_then_a_crash_sells_nothing_twice(self):
        for round_no in range(6):
            load = Load(self.shop, "disk", f"c{round_no}")
            until(lambda: len(load.accepted) > 20)
            self.break_disk("sync", 1_000_000)
            until(lambda: self.failures_left() < 1_000_000)
            self.shop.kill()
            load.stop()
            self.heal()
            self.shop.start()
            self.shop.audit()
            with self.shop.connect(timeout=30) as connection:
                for order, buyer in load.accepted.items():
                    expect(connection.ask("GET", ORDER.format(order), self.shop.token(buyer)), 200)


class StormTest(unittest.TestCase):

    def test_F66_two_thousand_orders_expire_at_once_while_selling_goes_on(self):
        with Shop() as server:
            server.start()
            server.make_sale("storm", units=2000, pay_within="4s")
            server.make_sale("calm", units=100_000)
            # Many connections, so that many claims share a commit and all of them end in the same second.
            crowd = Crowd(server, 50)
            answers = crowd.rush(claims("storm", server.tokens("storm", 2000)))
            crowd.close()
            self.assertEqual({answer.status for answer in answers}, {202})
            first, last = [choose(parse_time(answer.json()["payBy"]) for answer in answers) for choose in (min, max)]
            self.assertEqual(server.counts("storm"), (2000, 0, 2000, 0))
            until(lambda: time.time() > first - 0.3, 10)
            load = Load(server, "calm", "c", lanes=2, batch=1)
            until(lambda: server.counts("storm") == (2000, 2000, 0, 0), 10)
            late_s = time.time() - last
            load.stop()
            print(f"2,000 orders back {late_s:.2f} s after the last payBy (spread {last - first:.2f} s); meanwhile "
                  f"{len(load.accepted)} sold, the slowest in {load.slowest_s * 1000:.0f} ms", flush=True)
            self.assertLessEqual(late_s, 2.0)
            self.assertGreater(len(load.accepted), 10)
            self.assertLess(last - first, 1.5)
            self.assertLess(load.slowest_s, 2.0)
            load.check(self)
            self.assertEqual(server.audit()["orders"]["EXPIRED"], 2000)


if __name__ == "__main__":
    shop.main()
