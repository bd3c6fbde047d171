"""Whatever the log loses, repeats or holds: every promise is kept, no unit is sold twice, and nobody has to help."""

import json
import socket
import threading
import time

import cluster
from cluster import TOPIC, DistributedTest, OrderLog, WorkerNode, expect, tally, until
from order_log import Record, batch_of
from servers import ask_redis

AWAY_S = 20.0
SWALLOWED_S = 3.5  # Longer than a publish is waited for.
GROWTH_BYTES_MAX = 64 * 1024 * 1024
READABLE = [("v", b"1")]
HELD_IDS = """
local ids = redis.call('HKEYS', KEYS[1])
for at, id in ipairs(ids) do
  ids[at] = id:gsub('.', function(byte) return string.format('%02x', byte:byte()) end)
end
return ids"""


class LogTest(DistributedTest):
    """Nodes reach the broker through a line that can be troubled, workers directly."""

    @staticmethod
    def tailor(shop, role, _):
        proxied = shop.services.environment()["WEIR_TEST_KAFKA_PROXIED"]
        return ({"--kafka.brokers": proxied} if role == "node" else {}), {}

    def trouble(self, *lines):
        """Tells the line what to do to the nodes' connections."""
        with socket.create_connection(("127.0.0.1", self.cluster.services["kafka"].control_port), timeout=5) as control:
            with control.makefile("rw") as words:
                for line in lines:
                    words.write(line + "\n")
                    words.flush()
                    self.assertEqual(words.readline(), "ok\n")

    def tearDown(self):
        self.trouble("heal")

    def wait_for_the_log(self):
        """Everything that stands in the log by now is in the ledger."""
        time.sleep(2.5)  # A worker's count may be two seconds old.
        until(lambda: all(worker.metric("flash_queue_backlog") == 0 for worker in self.cluster.workers), 20.0,
              "the log being recorded")

    # Answers that are lost, and a broker that is away.

    def test_F23_B075_publishes_whose_answers_are_lost_are_neither_lost_nor_sold_twice(self):
        self.cluster.make_sale("unknown", units=200)
        before = self.cluster.metric("flash_queue_unknown_total", "nodes")

        def swallow(through):
            for least in (30, 120):
                until(lambda count=least: through() >= count, 60.0, f"{least} buyers being through")
                self.trouble("blackhole_down=1")  # What is published arrives; nobody hears of it.
                time.sleep(SWALLOWED_S)
                self.trouble("heal", "cut")
        crowd = self.cluster.rush("unknown", [f"buyer-{number}" for number in range(320)], swallow)
        self.assertEqual(tally(crowd), {202: 200, "SOLD_OUT": 120})
        self.assertGreater(self.cluster.metric("flash_queue_unknown_total", "nodes"), before)
        self.check_whole("unknown", 200, crowd)

    def test_F25_B017_a_broker_that_is_killed_and_long_away_costs_no_promise_and_no_memory(self):
        self.cluster.make_sale("gone", units=150)
        kafka = self.cluster.services["kafka"]
        growth = []

        def be_away(through):
            until(lambda: through() >= 60, 60.0, "60 buyers being through")
            before = self.cluster.metric("flash_app_resident_bytes", "nodes")
            kafka.processes[0].kill()
            time.sleep(AWAY_S)  # The outage itself; nothing is waited for.
            growth.append(self.cluster.metric("flash_app_resident_bytes", "nodes") - before)
            kafka.restart()
        crowd = self.cluster.rush("gone", [f"buyer-{number}" for number in range(250)], be_away, patience_s=65.0)
        self.assertEqual(tally(crowd), {202: 150, "SOLD_OUT": 100})
        self.assertLess(growth[0], GROWTH_BYTES_MAX)
        self.check_whole("gone", 150, crowd)

    # Records that come again, workers that come and go.

    def test_F28_F30_records_that_come_again_and_in_another_order_change_nothing(self):
        node, log = self.cluster.nodes[0], self.cluster.log
        self.cluster.make_sale("repeated", units=120)
        self.cluster.make_sale("lapsed", units=10, pay_within="1s")

        def repeat(through):
            until(lambda: through() >= 20, 60.0, "20 buyers being through")
            self.assertGreater(log.append_again(shift=1), 0)
        crowd = self.cluster.rush("repeated", [f"buyer-{number}" for number in range(60)], repeat)
        self.assertEqual(tally(crowd), {202: 60})
        lapsed = self.cluster.rush("lapsed", [f"buyer-{number}" for number in range(10)])
        self.assertEqual(tally(lapsed), {202: 10})
        until(lambda: self.cluster.in_ledger("repeated") == (120, 60, 60, 0), 20.0, "60 orders being recorded")
        for buyer in crowd[:10]:
            expect(node.ask("DELETE", cluster.ORDER.format(buyer.order()), node.token(buyer.name)), 200)
        for buyer in crowd[10:15]:
            node.pay(buyer.order(), buyer.name)
        until(lambda: self.cluster.in_ledger("lapsed") == (10, 10, 0, 0), 20.0, "ten orders expiring")
        known = self.cluster.metric("flash_flow_repeated_total")
        for shift in (2, 0):
            log.append_again(shift=shift)
            self.wait_for_the_log()
        self.assertGreater(self.cluster.metric("flash_flow_repeated_total"), known + 100)
        for some, status in ((crowd[:10], "CANCELLED"), (crowd[10:15], "PAID"), (crowd[15:], "PENDING"),
                             (lapsed, "EXPIRED")):
            for buyer in some:
                self.assertEqual(expect(node.order(buyer.order(), buyer.name), 200).json()["status"], status)
        for item, counts in (("repeated", (120, 70, 45, 5)), ("lapsed", (10, 10, 0, 0))):
            self.assertEqual(self.cluster.in_ledger(item), counts)
            until(lambda of=item, all_of=counts: all(door.counts(of) == all_of for door in self.cluster.nodes), 10.0,
                  f"every node showing {counts} of {item}")
        rest = self.cluster.rush("repeated", [f"rest-{number}" for number in range(90)])
        self.assertEqual(tally(rest), {202: 70, "SOLD_OUT": 20})
        self.cluster.audit()

    def test_B070_workers_that_come_and_go_in_a_rush_lose_no_order(self):
        self.cluster.make_sale("moving", units=400)
        comers = [WorkerNode(self.cluster, number) for number in (2, 3)]
        for comer in comers:
            self.addCleanup(comer.close)

        def come_and_go(through):
            for least, comer in ((40, comers[0]), (150, comers[1])):
                until(lambda count=least: through() >= count, 60.0, f"{least} buyers being through")
                comer.start()
            until(lambda: through() >= 300, 60.0, "300 buyers being through")
            self.assertEqual(comers[0].stop()[0], 0)
            comers[1].kill()
        crowd = self.cluster.rush("moving", [f"buyer-{number}" for number in range(500)], come_and_go)
        self.assertEqual(tally(crowd), {202: 400, "SOLD_OUT": 100})
        self.check_whole("moving", 400, crowd)

    # Messages that nobody can read.

    @staticmethod
    def poison(live_order, item):
        """What may stand in the log and is no claim: the last two name an order that is alive."""
        claim = {"orderId": "f" * 31 + "{:x}", "tenant": "default", "saleId": item, "itemId": item, "buyer": "nobody",
                 "quantity": 1, "numbers": [], "priceVersion": 1, "epoch": 1, "promisedPayBy": 1,
                 "requestDigest": "0" * 16, "admittedAt": 1}

        def text(number, **members):
            return json.dumps({**claim, "orderId": f"{number + 1:032x}", **members}).encode()
        return [Record(b"k", b"", READABLE), Record(b"k", None, READABLE), Record(None, b"{", []),
                Record(b"k", b"x" * 900_000, READABLE), Record(b"k", b'{"buyer":"\xff\xfe"}', READABLE),
                Record(b"k", text(1), [("v", b"2")]), Record(b"k", text(2), []),
                Record(b"k", b'{"deep":' + b"[" * 8000 + b"]" * 8000 + b"}", READABLE),
                Record(b"k", text(3, quantity=-1), READABLE), Record(b"k", text(4, quantity=2**63), READABLE),
                Record(b"k", text(5, itemId="nothing"), READABLE), Record(b"k", text(6, numbers=[1, 1]), READABLE),
                Record(b"k", text(7, orderId=live_order, quantity=0), READABLE),
                Record(b"k", text(8, orderId=live_order), [("v", b"7")])]

    def shown(self):
        """Where the dead letters lay."""
        return {tuple(dict(record.headers)[name] for name in ("partition", "offset"))
                for _, record in self.cluster.letters.records()}

    def test_F35_B072_poison_in_the_rush_stops_no_neighbour_and_is_kept(self):
        self.cluster.make_sale("poisoned", units=200)
        first = self.cluster.rush("poisoned", ["first"])[0]
        until(lambda: self.cluster.in_ledger("poisoned")[2] == 1, 20.0, "the first order being recorded")
        messages = self.poison(first.order(), "poisoned")
        parked, shown = self.cluster.metric("flash_queue_parked_total"), len(self.shown())

        def spill(through):
            until(lambda: through() >= 40, 60.0, "40 buyers being through")
            for partition in range(self.cluster.log.partitions):
                for message in messages:
                    self.cluster.log.append(partition, batch_of([message]))
        crowd = self.cluster.rush("poisoned", [f"buyer-{number}" for number in range(320)], spill)
        self.assertEqual(tally(crowd), {202: 199, "SOLD_OUT": 121})
        count = len(messages) * self.cluster.log.partitions
        until(lambda: len(self.shown()) == shown + count, 20.0, f"{count} dead letters being shown")
        self.assertEqual(self.cluster.metric("flash_queue_parked_total"), parked + count)
        self.check_whole("poisoned", 200, [first, *crowd])
        # People who send the dead letters back, twice, get dead letters.
        for _ in range(2):
            self.cluster.letters.append_again(into=self.cluster.log)
        self.wait_for_the_log()
        self.check_whole("poisoned", 200, [first, *crowd])

    def test_F37_units_of_a_claim_that_only_poison_tells_of_come_back(self):
        self.cluster.make_sale("spoiled", units=3)
        redis = self.cluster.services["redis"]
        self.trouble("blackhole_up=1")  # What the node publishes goes nowhere.
        answers = []
        press = threading.Thread(target=lambda: answers.append(self.cluster.nodes[0].buy("spoiled", "ana")))
        press.start()
        held = until(lambda: self.held_ids(redis.port, "spoiled"), 5.0, "the gate holding a unit")
        parked = self.cluster.metric("flash_queue_parked_total")
        body = json.dumps({"orderId": held[0], "quantity": "one"}).encode()
        self.cluster.log.append(0, batch_of([Record(b"spoiled", body, READABLE)]))
        until(lambda: self.cluster.metric("flash_queue_parked_total") > parked, 5.0, "the message being parked")
        press.join(15.0)
        expect(answers[0], 503)  # Only now the node has given its publish up for good.
        self.trouble("heal", "cut")
        until(lambda: all(node.counts("spoiled") == (3, 3, 0, 0) for node in self.cluster.nodes), 30.0,
              "the unit being back")
        crowd = self.cluster.rush("spoiled", ["ana", "ben", "cia", "dan"])
        self.assertEqual(tally(crowd), {202: 3, "SOLD_OUT": 1})
        self.check_whole("spoiled", 3, crowd)

    @staticmethod
    def held_ids(port, item):
        """The orders that the gate of this item's sale holds."""
        keys = [line for line in (ask_redis(port, "KEYS", f"{{default:{item}}}:*:held") or "").splitlines()
                if line.startswith("{")]
        fields = ask_redis(port, "EVAL", HELD_IDS, "1", keys[0]) if keys else ""
        return [line for line in fields.splitlines() if len(line) == 32]

    def test_F36_poison_without_a_place_for_dead_letters_waits_for_one(self):
        self.cluster.make_sale("letterless", units=100)
        self.cluster.letters.delete()
        messages = [message for message in self.poison("0" * 31 + "1", "letterless") if message.value]

        def spill(through):
            until(lambda: through() >= 20, 60.0, "20 buyers being through")
            for message in messages:
                self.cluster.log.append(1, batch_of([message]))
        try:
            crowd = self.cluster.rush("letterless", [f"buyer-{number}" for number in range(160)], spill)
            self.assertEqual(tally(crowd), {202: 100, "SOLD_OUT": 60})
            self.check_whole("letterless", 100, crowd)
        finally:
            until(self.is_made_anew, 20.0, "the topic of dead letters being made again")
        until(lambda: len(self.shown()) == len(messages), 20.0, f"{len(messages)} dead letters being shown")

    def is_made_anew(self):
        """A topic that is being deleted cannot be made."""
        try:
            OrderLog(self.cluster.services["kafka"].port, TOPIC + ".dlq", 1).create()
            return self.cluster.letters.records() is not None
        except AssertionError:
            return False


if __name__ == "__main__":
    cluster.main()
