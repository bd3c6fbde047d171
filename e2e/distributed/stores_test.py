"""Kafka and PostgreSQL away for some seconds, cut off or set back: who presses hears "try again", and nothing is lost
or sold twice."""

import os
import subprocess
import time

import cluster
from cluster import DistributedTest, expect, tally, until
from commit_cutter import CommitCutter

AWAY_S = 5.0
CUT_EVERY = 4
CUT_ROUNDS_MAX = 10


class StoresTest(DistributedTest):
    """Workers reach PostgreSQL through a line that can be cut, nodes directly."""

    @staticmethod
    def tailor(shop, role, _):
        if not shop.helpers:
            shop.helpers.append(CommitCutter(shop.services["postgres"].port))
        port = shop.helpers[0].port
        return {}, ({"WEIR_POSTGRES_DSN": f"host=127.0.0.1 port={port} user=weir dbname=postgres"}
                    if role == "worker" else {})

    def away(self, server, through):
        until(lambda: through() >= 40, 60.0, "40 buyers being through")
        for process in server.processes:
            process.pause()
        time.sleep(AWAY_S)  # The outage itself; nothing is waited for.
        for process in server.processes:
            process.resume()

    def test_F25_a_log_that_does_not_answer_costs_no_promise_and_no_unit(self):
        self.cluster.make_sale("log", units=150)
        kafka = self.cluster.services["kafka"]
        crowd = self.cluster.rush("log", [f"buyer-{number}" for number in range(250)],
                                  lambda through: self.away(kafka, through))
        self.assertEqual(tally(crowd), {202: 150, "SOLD_OUT": 100})
        self.check_whole("log", 150, crowd)

    def test_F47_a_ledger_that_is_restarted_in_the_rush_loses_nothing(self):
        self.cluster.make_sale("ledger", units=150)
        postgres = self.cluster.services["postgres"]

        def restart(through):
            until(lambda: through() >= 40, 60.0, "40 buyers being through")
            postgres.processes[0].stop()
            postgres.restart()
        crowd = self.cluster.rush("ledger", [f"buyer-{number}" for number in range(250)], restart)
        self.assertEqual(tally(crowd), {202: 150, "SOLD_OUT": 100})
        self.check_whole("ledger", 150, crowd)

    def test_F47_a_ledger_that_is_killed_in_the_rush_loses_nothing(self):
        self.cluster.make_sale("ledger-killed", units=150)
        postgres = self.cluster.services["postgres"]

        def restart(through):
            until(lambda: through() >= 40, 60.0, "40 buyers being through")
            postgres.processes[0].kill()
            postgres.restart()
        crowd = self.cluster.rush("ledger-killed", [f"buyer-{number}" for number in range(250)], restart)
        self.assertEqual(tally(crowd), {202: 150, "SOLD_OUT": 100})
        self.check_whole("ledger-killed", 150, crowd)

    def test_F47_B077_commits_that_are_cut_in_the_middle_are_found_again(self):
        self.cluster.make_sale("cut", units=300)
        self.cluster.make_sale("cut-short", units=100, pay_within="1s")
        unknown = self.cluster.metric("flash_ledger_unknown_commits_total")
        cutter = self.cluster.helpers[0]
        cutter.every = CUT_EVERY
        try:
            short = self.cluster.rush("cut-short", [f"buyer-{number}" for number in range(100)])
            crowd = self.cluster.rush("cut", [f"buyer-{number}" for number in range(450)])
            # A busy machine makes large batches, and so few commits: more sales until both kinds of cut were met.
            for more in range(CUT_ROUNDS_MAX):
                if min(cutter.lost_answers, cutter.lost_commits) > 0:
                    break
                self.cluster.make_sale(f"cut-{more}", units=40)
                self.assertEqual(tally(self.cluster.rush(f"cut-{more}", [f"buyer-{n}" for n in range(40)])), {202: 40})
            until(lambda: self.cluster.in_ledger("cut-short") == (100, 100, 0, 0), 30.0, "a hundred orders expiring")
        finally:
            cutter.every = 0
        self.assertEqual(tally(short), {202: 100})
        self.assertEqual(tally(crowd), {202: 300, "SOLD_OUT": 150})
        self.assertGreater(min(cutter.lost_answers, cutter.lost_commits), 0, "both kinds of cut were met")
        self.assertGreater(self.cluster.metric("flash_ledger_unknown_commits_total"), unknown)
        self.check_whole("cut", 300, crowd)
        until(lambda: all(node.counts("cut-short") == (100, 100, 0, 0) for node in self.cluster.nodes), 10.0,
              "every expired unit being back once")

    def test_F54_a_ledger_that_lost_its_last_commits_takes_them_from_the_log_again(self):
        self.cluster.make_sale("set-back", units=200)
        postgres = self.cluster.services["postgres"]
        early = self.cluster.rush("set-back", [f"early-{number}" for number in range(50)])
        until(lambda: self.cluster.in_ledger("set-back") == (200, 150, 50, 0), 20.0, "50 orders being recorded")
        data = postgres.processes[0].command[postgres.processes[0].command.index("-D") + 1]
        postgres.processes[0].stop()
        subprocess.run(["cp", "-a", data, data + ".before"], check=True, timeout=30)
        postgres.restart()
        for node in self.cluster.nodes:
            self.cluster.wait_until_sold_from(node, "set-back")
        middle = self.cluster.rush("set-back", [f"middle-{number}" for number in range(70)])
        until(lambda: self.cluster.in_ledger("set-back") == (200, 80, 120, 0), 20.0, "120 orders being recorded")

        def set_back(through):
            until(lambda: through() >= 20, 60.0, "20 late buyers being through")
            postgres.processes[0].kill()
            os.rename(data, data + ".lost")
            os.rename(data + ".before", data)
            postgres.restart()
        late = self.cluster.rush("set-back", [f"late-{number}" for number in range(130)], set_back)
        self.assertEqual(tally(early + middle), {202: 120})
        self.assertEqual(tally(late), {202: 80, "SOLD_OUT": 50})
        self.check_whole("set-back", 200, early + middle + late)
        expect(self.cluster.nodes[0].buy("set-back", "early-0"), 409, "ALREADY_PURCHASED")


if __name__ == "__main__":
    cluster.main()
