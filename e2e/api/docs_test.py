"""The documents say what the program is: every route has its entry and no entry is without a route."""

import os
import re
import unittest

import shop
from shop import ROOT, routes, run_weir


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def documented_operations():
    """(METHOD, path) of docs/openapi.yaml, read by its indentation."""
    found, path, is_paths = set(), None, False
    for line in read("docs/openapi.yaml").splitlines():
        if re.match(r"^\S", line):
            is_paths = line.startswith("paths:")
        elif is_paths and (match := re.match(r"^  (/\S*):\s*$", line)):
            path = match[1]
        elif is_paths and (match := re.match(r"^    (get|put|post|delete|patch|head|options|trace):", line)):
            found.add((match[1].upper(), path))
    return found


class DocumentTest(unittest.TestCase):

    def test_the_document_for_machines_and_the_table_of_routes_are_the_same(self):
        table = {(method, pattern) for _, method, pattern, _ in routes()}
        self.assertEqual(documented_operations(), table)

    def test_every_route_is_in_the_document_for_people(self):
        text = read("docs/http_api.md")
        for _, method, pattern, _ in routes():
            self.assertRegex(text, rf"`{method} {re.escape(pattern)}(\?[^`]*)?`")

    def test_the_document_for_people_names_no_route_that_is_not_there(self):
        table = {(method, pattern) for _, method, pattern, _ in routes()}
        named = re.findall(r"`(GET|POST|DELETE|PUT|PATCH) (/[^`?]+)", read("docs/http_api.md"))
        self.assertGreater(len(named), 30)
        self.assertEqual({pair for pair in named if pair not in table}, set())

    def test_every_error_code_is_in_the_document_for_people(self):
        codes = re.findall(r'CodeText\{Code::\w+, (\d+), "(\w+)"', read("src/http/codes.h"))
        codes += re.findall(r'\{Refusal::\w+, (\d+), "(\w+)"', read("src/http/refusal.cc"))
        text = read("docs/http_api.md")
        for status, code in codes:
            if int(status) >= 400:
                self.assertIn(f"`{code}`", text)

    def test_commands_that_the_documents_show_exist(self):
        shown = set()
        for document in ("README.md", "CONTRIBUTING.md", "docs/http_api.md"):
            # A line of a command, with or without a variable that takes what it prints.
            command = r"^(?:\$ )?(?:\w+=\$\()?(?:build/)?weir ((?:[a-z]+ ?){1,2})"
            for words in re.findall(command, read(document), re.MULTILINE):
                shown.add(tuple(words.split()))
        self.assertGreater(len(shown), 2)
        for words in shown:
            done = run_weir(*words, "--help")
            self.assertEqual(done.returncode, 0, f"weir {' '.join(words)}")

    def test_stages_and_commands_of_the_script_that_the_documents_show_exist(self):
        script = read("dev")
        known = set(re.findall(r"^command_(\w+)\(\)", script, re.MULTILINE)) | {"help"}
        stages = set(re.findall(r"^stage_(\w+)\(\)", script, re.MULTILINE))
        for document in ("README.md", "CONTRIBUTING.md"):
            for command in re.findall(r"\./dev ([a-z_]+)", read(document)):
                self.assertIn(command, known, document)
            for stage in re.findall(r"\./dev test ([a-z_]+)", read(document)):
                self.assertIn(stage, stages, document)


if __name__ == "__main__":
    shop.main()
