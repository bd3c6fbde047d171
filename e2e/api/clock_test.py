"""A wall clock that steps while the server sells expires nobody early and nobody late, and is told to the operator."""

import os
import struct
import tempfile
import time
import unittest

import shop
from shop import Shop, build_library, expect, until


class ClockTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weir-e2e-")
        cls.library = build_library("stepping_clock", cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.control = os.path.join(self.folder.name, "step")
        self.step(0)
        self.shop = Shop(env={"LD_PRELOAD": self.library, "STEPPING_CLOCK": self.control})
        self.addCleanup(self.shop.close)
        self.shop.start()

    def step(self, seconds):
        with open(self.control, "r+b" if os.path.exists(self.control) else "w+b") as file:
            file.write(struct.pack("=q", seconds))

    def test_F68_a_clock_that_jumps_expires_nobody_early_or_late(self):
        for seconds in (3600, -3600, 86_400):
            name = f"jump{seconds}"
            self.step(0)
            self.shop.make_sale(name, units=2, pay_within="3s")
            self.shop.make_sale(name + "-long", units=2, pay_within="10m")
            begin = time.monotonic()
            short = expect(self.shop.buy(name, "ana"), 202).json()["orderId"]
            long = expect(self.shop.buy(name + "-long", "ana"), 202).json()["orderId"]
            self.step(seconds)
            until(lambda seconds=seconds: abs(self.shop.metric("flash_base_clock_step_seconds") - seconds) < 2, 5,
                  "the step in the metrics")
            self.assertEqual(self.shop.order(short, "ana").json()["status"], "PENDING")
            self.shop.wait_for_status(short, "ana", "EXPIRED", 8)
            self.assertAlmostEqual(time.monotonic() - begin, 3.0, delta=1.2)
            self.assertEqual(self.shop.order(long, "ana").json()["status"], "PENDING")
            # Selling and paying go on meanwhile.
            paid = expect(self.shop.buy(name, "bob"), 202).json()["orderId"]
            self.shop.pay(paid, "bob")
        until(lambda: "clock_stepped" in self.shop.log(), 5, "the alarm in the log")
        self.step(0)
        self.shop.audit()


if __name__ == "__main__":
    shop.main()
