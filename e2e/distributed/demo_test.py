"""The demonstration of several processes proves itself: GO, with every promise in the ledger."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import cluster
from cluster import HERE, skip_reason


class DemoTest(unittest.TestCase):

    def test_a_crowd_at_two_nodes_gets_a_go(self):
        reason = skip_reason(["redis", "kafka", "postgres"])
        if reason:
            print(f"SKIPPED: {self.id()}: {reason}", flush=True)
            self.skipTest(reason)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-B", os.path.join(HERE, "demo.py"), "--distributed", "--units", "300", "--buyers",
                 "3000", "--once", "--json", "--report", os.path.join(folder, "report.html")],
                capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        report = json.loads(done.stdout)
        self.assertEqual(report["verdict"], "GO", report["reasons"])
        self.assertEqual(report["outcomes"]["202"], 300)
        self.assertTrue(report["audit"]["ok"])
        self.assertTrue(all(not invariant["violations"] for invariant in report["audit"]["invariants"]))


if __name__ == "__main__":
    cluster.main()
