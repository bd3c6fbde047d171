"""Processes that are killed, stopped and started again in the middle of a sale lose nothing that was promised."""

import threading

import cluster
from cluster import DistributedTest, tally, until


class ProcessTest(DistributedTest):

    def test_F31_a_worker_that_is_killed_and_started_again_loses_no_order(self):
        self.cluster.make_sale("killed", units=300)
        victim = self.cluster.workers[0]

        def kill_and_start(through):
            for count in (50, 200, 350):
                until(lambda least=count: through() >= least, 60.0, f"{count} buyers being through")
                victim.kill()
                victim.start()
        crowd = self.cluster.rush("killed", [f"buyer-{number}" for number in range(500)], kill_and_start)
        self.assertEqual(tally(crowd), {202: 300, "SOLD_OUT": 200})
        self.check_whole("killed", 300, crowd)

    def test_F33_a_worker_that_slept_does_no_harm_when_it_wakes(self):
        self.cluster.make_sale("slept", units=200)
        sleeper = self.cluster.workers[0]

        def put_to_sleep(through):
            until(lambda: through() >= 50, 60.0, "50 buyers being through")
            sleeper.process.send_signal(cluster.signal.SIGSTOP)
            try:
                until(lambda: self.cluster.workers[1].metric("flash_queue_backlog") == 0 and through() >= 250, 60.0,
                      "the other worker taking over")
            finally:
                sleeper.process.send_signal(cluster.signal.SIGCONT)
        crowd = self.cluster.rush("slept", [f"buyer-{number}" for number in range(300)], put_to_sleep)
        self.assertEqual(tally(crowd), {202: 200, "SOLD_OUT": 100})
        self.check_whole("slept", 200, crowd)

    def test_F26_every_process_is_restarted_in_turn_while_people_buy(self):
        self.cluster.make_sale("rolling", units=400)

        def roll(through):
            until(lambda: through() >= 50, 60.0, "50 buyers being through")
            for process in (*self.cluster.nodes, *self.cluster.workers):
                code, took = process.stop()
                self.assertEqual(code, 0, process.log()[-2000:])
                self.assertLess(took, 11.0)
                process.start()
        crowd = self.cluster.rush("rolling", [f"buyer-{number}" for number in range(600)], roll)
        self.assertEqual(tally(crowd), {202: 400, "SOLD_OUT": 200})
        self.check_whole("rolling", 400, crowd)

    def test_F01_a_node_that_is_killed_leaves_no_unit_behind(self):
        self.cluster.make_sale("crashed", units=100)
        victim = self.cluster.nodes[0]

        def kill_and_start(through):
            until(lambda: through() >= 30, 60.0, "30 buyers being through")
            victim.kill()
            victim.start()
        crowd = self.cluster.rush("crashed", [f"buyer-{number}" for number in range(60)], kill_and_start)
        self.assertEqual(tally(crowd), {202: 60})
        self.check_whole("crashed", 100, crowd)

    def test_F01_what_was_taken_and_never_published_is_driven_on_by_a_worker(self):
        self.cluster.make_sale("driven", units=5)
        victim, witness = self.cluster.nodes
        kafka = self.cluster.services["kafka"].processes[0]
        kafka.pause()  # What is sent to it now is never read.
        presses = [threading.Thread(target=self.press, args=(victim, "driven", name)) for name in ("ana", "ben", "cia")]
        for press in presses:
            press.start()
        until(lambda: witness.stock("driven")["free"] == 2, 3.0, "the gate holding three units")
        victim.kill()
        kafka.kill()
        for press in presses:
            press.join(20)
        self.cluster.services["kafka"].restart()
        victim.start()
        self.assertEqual(self.cluster.in_ledger("driven"), (5, 5, 0, 0))
        until(lambda: self.cluster.in_ledger("driven") == (5, 2, 3, 0), 40.0, "three orders reaching the ledger")
        for name in ("ana", "ben", "cia"):
            until(lambda who=name: victim.buy("driven", who).code() == "ALREADY_PURCHASED", 10.0, f"{name} being known")
        crowd = self.cluster.rush("driven", ["dan", "eve", "fay"])
        self.assertEqual(tally(crowd), {202: 2, "SOLD_OUT": 1})
        self.cluster.audit()

    @staticmethod
    def press(node, item, name):
        try:
            node.buy(item, name)
        except OSError:
            pass  # The node died under it.


if __name__ == "__main__":
    cluster.main()
