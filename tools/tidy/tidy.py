#!/usr/bin/env python3
"""Checks the rules of the house that no compiler knows: `./dev tidy`. Prints each breach and what to do instead."""

import argparse
import sys
from pathlib import Path

import rules_code
import rules_docs
import rules_layout
import rules_text
from tree import Finding, Tree

RULES = rules_layout.RULES + rules_code.RULES + rules_text.RULES + rules_docs.RULES


def findings_of(root: Path) -> list[Finding]:
    tree = Tree(root)
    return sorted(finding for rule in RULES for finding in rule(tree))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    root = parser.parse_args().root
    findings = findings_of(root)
    for finding in findings:
        print(finding)
    print(f"tidy: {len(RULES)} rules, {len(findings)} breaches")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
