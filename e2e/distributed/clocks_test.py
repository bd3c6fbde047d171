"""Processes whose clocks disagree: who may buy, until when, and what comes back is decided by the ledger's clock."""

import os
import struct
import tempfile
import time

import cluster
from cluster import DistributedTest, Node, expect, tally, until
from servers import ask_redis
from shop import build_library

HOUR_S = 3600
AHEAD_S = {"worker": (HOUR_S, 2 * HOUR_S, -HOUR_S), "node": (1, -1, 600)}
PAY_WITHIN_S = 4.0


class ClocksTest(DistributedTest):
    """Two workers are hours ahead, one is behind; nodes are a second apart, and a third one is ten minutes ahead."""

    workers = 3

    @staticmethod
    def tailor(shop, role, number):
        if not shop.helpers:
            folder = tempfile.TemporaryDirectory(prefix="weir-clocks-")
            folder.library = build_library("stepping_clock", folder.name)
            folder.close = folder.cleanup
            shop.helpers.append(folder)
        folder = shop.helpers[0]
        path = os.path.join(folder.name, f"{role}-{number}")
        with open(path, "wb") as file:
            file.write(struct.pack("=q", AHEAD_S[role][number]))
        return {}, {"LD_PRELOAD": folder.library, "STEPPING_CLOCK": path}

    def test_F68_clocks_that_disagree_expire_nobody_early_or_late(self):
        self.cluster.make_sale("apart", units=60, pay_within=f"{PAY_WITHIN_S:.0f}s")
        begin = time.monotonic()
        crowd = self.cluster.rush("apart", [f"buyer-{number}" for number in range(60)])
        bought = time.monotonic()
        self.assertEqual(tally(crowd), {202: 60})
        self.check_whole("apart", 60, crowd)
        self.assertLess(time.monotonic() - begin, PAY_WITHIN_S, "all were seen unpaid in time")
        until(lambda: self.cluster.in_ledger("apart") == (60, 60, 0, 0), 15.0, "sixty orders expiring")
        # A node's own clock adds at most what it may be away from the ledger's.
        self.assertLess(time.monotonic() - bought, PAY_WITHIN_S + 4.0)
        until(lambda: all(node.counts("apart") == (60, 60, 0, 0) for node in self.cluster.nodes), 10.0,
              "every unit being back")

    def test_F68_a_node_whose_clock_is_far_away_promises_nothing(self):
        self.cluster.make_sale("far", units=40)
        far = Node(self.cluster, 2).start()
        self.addCleanup(far.close)
        until(lambda: "clock_far_from_ledger" in far.log(), 10.0, "the alarm in the log")
        expect(far.buy("far", "ana"), 503)
        self.cluster.nodes.append(far)
        try:
            crowd = self.cluster.rush("far", [f"buyer-{number}" for number in range(60)])
        finally:
            self.cluster.nodes.remove(far)
        self.assertEqual(tally(crowd), {202: 40, "SOLD_OUT": 20})
        self.check_whole("far", 40, crowd)

    def test_F68_F12_builders_whose_clocks_disagree_do_not_hinder_one_another(self):
        self.cluster.make_sale("built", units=120)
        redis = self.cluster.services["redis"]

        def flush(through):
            until(lambda: through() >= 20, 60.0, "20 buyers being through")
            self.assertEqual(ask_redis(redis.port, "FLUSHALL"), "+OK\r\n")
        crowd = self.cluster.rush("built", [f"buyer-{number}" for number in range(180)], flush)
        self.assertEqual(tally(crowd), {202: 120, "SOLD_OUT": 60})
        epoch = int(ask_redis(redis.port, "HGET", "{default:built}:meta", "epoch").split()[-1])
        self.assertIn(epoch, (2, 3), "one loss is one build, or two that met")
        self.check_whole("built", 120, crowd)


if __name__ == "__main__":
    cluster.main()
