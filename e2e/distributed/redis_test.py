"""A gate that is lost is built again from the ledger: nothing is sold twice, and soon everything can be sold again."""

import os
import time

import cluster
from cluster import DistributedTest, expect, tally, until
from servers import ask_redis

REBUILT_WITHIN_S = 30.0


class FailoverTest(DistributedTest):
    redis = "cluster"

    def primary_of(self, item):
        """The number of the node that holds the keys of this sale, and how many keys there are."""
        redis = self.cluster.services["cluster"]
        for number, port in enumerate(redis.ports):
            is_primary = "role:master" in (ask_redis(port, "INFO", "replication") or "")
            keys = ask_redis(port, "KEYS", f"{{default:{item}}}*") or ""
            if is_primary and keys.startswith("*") and not keys.startswith("*0"):
                return number
        raise AssertionError(f"no primary has the keys of {item}")

    def test_F03_a_primary_that_dies_costs_no_promise_and_no_unit(self):
        self.cluster.make_sale("failover", units=200)
        redis = self.cluster.services["cluster"]
        crowd = self.cluster.rush("failover", [f"early-{number}" for number in range(80)])
        self.assertEqual(tally(crowd), {202: 80})
        begin = time.monotonic()
        redis.processes[self.primary_of("failover")].kill()
        for node in self.cluster.nodes:
            self.cluster.wait_until_sold_from(node, "failover", REBUILT_WITHIN_S)
        print(f"sold from again after {time.monotonic() - begin:.1f} s", flush=True)
        late = self.cluster.rush("failover", [f"late-{number}" for number in range(200)])
        self.assertEqual(tally(late), {202: 120, "SOLD_OUT": 80})
        self.check_whole("failover", 200, crowd + late)

    def test_F03_a_primary_that_dies_in_the_rush_costs_no_promise_and_no_unit(self):
        self.cluster.make_sale("rush", units=200)
        redis = self.cluster.services["cluster"]

        def kill(through):
            until(lambda: through() >= 60, 60.0, "60 buyers being through")
            redis.processes[self.primary_of("rush")].kill()
        crowd = self.cluster.rush("rush", [f"buyer-{number}" for number in range(320)], kill)
        self.assertEqual(tally(crowd), {202: 200, "SOLD_OUT": 120})
        self.check_whole("rush", 200, crowd)

    def test_F04_an_old_primary_that_was_cut_off_sells_nothing_when_it_is_back(self):
        self.cluster.make_sale("cut-off", units=400)
        redis = self.cluster.services["cluster"]
        old = self.primary_of("cut-off")
        told = []

        def cut_off(through):
            until(lambda: through() >= 60, 60.0, "60 buyers being through")
            redis.processes[old].pause()  # What it is sent waits before its door, and is run when it wakes.
            try:
                until(lambda: self.owner_of("cut-off", (old + 1) % 6) not in (None, redis.ports[old]), 20.0,
                      "a failover")
                before = through()
                until(lambda: through() >= before + 50, 40.0, "the sale going on elsewhere")
            finally:
                redis.processes[old].resume()
            told.append(through())
            until(lambda: "role:slave" in (ask_redis(redis.ports[old], "INFO", "replication") or ""), 20.0,
                  "the old primary following")
        crowd = self.cluster.rush("cut-off", [f"buyer-{number}" for number in range(600)], cut_off)
        self.assertEqual(tally(crowd), {202: 400, "SOLD_OUT": 200})
        self.assertLess(told[0], 600, "it came back while people were buying")
        self.check_whole("cut-off", 400, crowd)

    def test_F10_a_slot_that_moves_in_the_rush_costs_no_promise_and_no_unit(self):
        self.cluster.make_sale("moved", units=800)
        move = self.plan_move_of("moved")
        told = []

        def run_move(through):
            until(lambda: through() >= 40, 60.0, "40 buyers being through")
            port = move()
            told.extend((port, through()))
        crowd = self.cluster.rush("moved", [f"buyer-{number}" for number in range(1000)], run_move)
        self.assertEqual(tally(crowd), {202: 800, "SOLD_OUT": 200})
        self.assertLess(told[1], 700, "it was moved while there were units")
        self.assertEqual(self.owner_of("moved"), told[0])
        self.assertGreater(int(ask_redis(told[0], "HGET", "{default:moved}:meta", "epoch").split()[-1]), 1)
        self.check_whole("moved", 800, crowd)

    def owner_of(self, item, asked=0):
        """The port of the primary that holds the slot of this sale, as one node sees it."""
        ports = self.cluster.services["cluster"].ports
        slot = int(ask_redis(ports[asked], "CLUSTER", "KEYSLOT", f"{{default:{item}}}")[1:])
        for line in ask_redis(ports[asked], "CLUSTER", "NODES").splitlines():
            words = line.split()
            if len(words) < 9 or "master" not in words[2] or "fail" in words[2]:
                continue
            for span in words[8:]:
                first, _, last = span.partition("-")
                if first.isdigit() and int(first) <= slot <= int(last or first):
                    return int(words[1].partition("@")[0].rpartition(":")[2])
        return None

    def plan_move_of(self, item):
        """What moves the slot with its keys to another primary, as an operator's tool does; gives that one's port."""
        ports = self.cluster.services["cluster"].ports
        slot = ask_redis(ports[0], "CLUSTER", "KEYSLOT", f"{{default:{item}}}")[1:].strip()
        source = self.owner_of(item)
        target = next(port for port in ports
                      if port != source and "role:master" in ask_redis(port, "INFO", "replication"))
        ids = {port: ask_redis(port, "CLUSTER", "MYID").splitlines()[-1] for port in (source, target)}

        def move():
            for port, words in ((target, ("IMPORTING", ids[source])), (source, ("MIGRATING", ids[target]))):
                self.assertEqual(ask_redis(port, "CLUSTER", "SETSLOT", slot, *words), "+OK\r\n")
            while keys := [line for line in ask_redis(source, "CLUSTER", "GETKEYSINSLOT", slot, "100").splitlines()
                           if line[:1] not in "*$"]:
                self.assertEqual(ask_redis(source, "MIGRATE", "127.0.0.1", str(target), "", "0", "5000", "KEYS", *keys),
                                 "+OK\r\n")
            for port in (target, source):
                self.assertEqual(ask_redis(port, "CLUSTER", "SETSLOT", slot, "NODE", ids[target]), "+OK\r\n")
            return target
        return move

    def tearDown(self):
        redis = self.cluster.services["cluster"]
        for number, process in enumerate(redis.processes):
            if not process.is_alive():
                redis.restart(number)
        redis.wait_ready()


class EmptiedTest(DistributedTest):

    def test_F13_a_gate_that_was_emptied_is_built_again_and_not_full(self):
        self.cluster.make_sale("emptied", units=50)
        early = self.cluster.rush("emptied", [f"early-{number}" for number in range(20)])
        self.assertEqual(tally(early), {202: 20})
        redis = self.cluster.services["redis"]
        redis.processes[0].kill()
        redis.restart()
        for node in self.cluster.nodes:
            self.cluster.wait_until_sold_from(node, "emptied", REBUILT_WITHIN_S)
        late = self.cluster.rush("emptied", [f"late-{number}" for number in range(50)])
        self.assertEqual(tally(late), {202: 30, "SOLD_OUT": 20})
        self.check_whole("emptied", 50, early + late)

    def test_F12_keys_that_are_lost_in_a_rush_close_the_sale_until_it_is_built(self):
        self.cluster.make_sale("flushed", units=100)
        redis = self.cluster.services["redis"]

        def flush(through):
            until(lambda: through() >= 30, 60.0, "30 buyers being through")
            self.assertEqual(ask_redis(redis.port, "FLUSHALL"), "+OK\r\n")
        crowd = self.cluster.rush("flushed", [f"buyer-{number}" for number in range(160)], flush)
        self.assertEqual(tally(crowd), {202: 100, "SOLD_OUT": 60})
        self.check_whole("flushed", 100, crowd)

    def test_F06_B063_scripts_that_are_forgotten_all_the_time_are_not_noticed(self):
        self.cluster.make_sale("forgotten", units=300)
        redis = self.cluster.services["redis"]
        forgotten = []

        def forget(through):
            while through() < 450:
                self.assertEqual(ask_redis(redis.port, "SCRIPT", "FLUSH"), "+OK\r\n")
                forgotten.append(through())
                time.sleep(0.02)  # Often, and not without a pause.
        crowd = self.cluster.rush("forgotten", [f"buyer-{number}" for number in range(450)], forget)
        self.assertEqual(tally(crowd), {202: 300, "SOLD_OUT": 150})
        self.assertEqual({buyer.presses for buyer in crowd}, {1}, "nobody had to press again")
        self.assertGreater(len([count for count in forgotten if 0 < count < 450]), 5)
        self.check_whole("forgotten", 300, crowd)

    def test_F13_a_gate_that_comes_back_as_it_was_before_is_not_believed(self):
        self.cluster.make_sale("snapshot", units=200)
        redis = self.cluster.services["redis"]
        early = self.cluster.rush("snapshot", [f"early-{number}" for number in range(60)])
        until(lambda: self.cluster.in_ledger("snapshot") == (200, 140, 60, 0), 20.0, "60 orders being recorded")
        self.assertEqual(ask_redis(redis.port, "SAVE"), "+OK\r\n")
        for buyer in early[:10]:  # The snapshot has their units held for ever.
            self.cancel(buyer)

        def go_back(through):
            until(lambda: through() >= 60, 60.0, "60 more buyers being through")
            redis.processes[0].kill()
            redis.restart()
            self.assertEqual(ask_redis(redis.port, "EXISTS", "{default:snapshot}:meta"), ":1\r\n")
        late = self.cluster.rush("snapshot", [f"late-{number}" for number in range(220)], go_back)
        self.assertEqual(tally(late), {202: 150, "SOLD_OUT": 70})
        self.check_whole("snapshot", 200, early[10:] + late)

    def cancel(self, buyer):
        node = self.cluster.nodes[0]

        def is_cancelled():
            answer = node.ask("DELETE", cluster.ORDER.format(buyer.order()), node.token(buyer.name))
            return None if answer.status == 503 else expect(answer, 200).json()["status"] == "CANCELLED"
        until(is_cancelled, 10.0, f"the order of {buyer.name} being cancelled")

    def test_F64_B020_what_ended_while_the_gate_was_away_can_be_sold_as_soon_as_it_is_back(self):
        self.cluster.make_sale("away", units=1000, limit=50, pay_within="8s")
        redis = self.cluster.services["redis"]
        crowd = self.cluster.rush("away", [f"buyer-{number}" for number in range(1000)])
        self.assertEqual(tally(crowd), {202: 1000})
        epoch = ask_redis(redis.port, "HGET", "{default:away}:meta", "epoch")
        redis.processes[0].pause()
        try:
            until(lambda: self.cluster.in_ledger("away") == (1000, 1000, 0, 0), 30.0, "1,000 orders expiring")
        finally:
            redis.processes[0].resume()
        begin = time.monotonic()
        until(lambda: all(node.counts("away") == (1000, 1000, 0, 0) for node in self.cluster.nodes), REBUILT_WITHIN_S,
              "1,000 units being back")
        print(f"1,000 units were back after {time.monotonic() - begin:.1f} s", flush=True)
        self.assertEqual(ask_redis(redis.port, "HGET", "{default:away}:meta", "epoch"), epoch,
                         "the same gate as before: they came by the outbox")
        again = [cluster.Buyer(self.cluster, "away", f"again-{number}", number, quantity=50) for number in range(24)]
        self.assertEqual(tally(cluster.run_all(again)), {202: 20, "SOLD_OUT": 4})
        node = self.cluster.nodes[0]
        for buyer in crowd[::100]:
            self.assertEqual(expect(node.order(buyer.order(), buyer.name), 200).json()["status"], "EXPIRED")
        self.cluster.audit()

    def tearDown(self):
        redis = self.cluster.services["redis"]
        snapshot = os.path.join(redis.folder, "dump.rdb")
        if os.path.exists(snapshot):
            os.remove(snapshot)  # The next restart finds nothing.


if __name__ == "__main__":
    cluster.main()
