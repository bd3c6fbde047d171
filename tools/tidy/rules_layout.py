"""Who may know whom: the tables of docs/architecture.md against the tree."""

import re

from tables import table_with
from tree import Finding, SourceFile, Tree

MAP = "docs/architecture.md"
TOP_FOLDERS = ("sim", "bench", "e2e", "web", "tools", "deploy", "docs")
# Who may name an adapter besides its own folder and tests.
WIRING_FOLDERS = ("src/app", "sim", "bench", "e2e")
PORT_NAME = re.compile(r"_(gate|queue|ledger|gateway)\.h$")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def _short(folder: str) -> str:
    """`gate` for `src/gate`: the name that includes and the table use."""
    return folder.removeprefix("src/")


def _folders_in(tree: Tree) -> set[str]:
    found = {file.folder for file in tree.files}
    return {folder for folder in found if folder in TOP_FOLDERS or folder.startswith("src/")}


def check_folder_table(tree: Tree) -> list[Finding]:
    """Every folder has a row, and every row has a folder."""
    table = table_with(tree.get(MAP), "Folder", "Job", "May include")
    if table is None:
        return [Finding(MAP, 1, "folders", "there is no table with the headings Folder, Job, May include")]
    findings, listed = [], {}
    for row in table.rows:
        for folder in row.names("Folder"):
            if folder in listed:
                findings.append(Finding(MAP, row.line, "folders", f"{folder} is listed twice"))
            listed[folder] = row.line
        if not row.cells.get("Job"):
            findings.append(Finding(MAP, row.line, "folders", "a folder without a job: delete one or say the other"))
    present = _folders_in(tree)
    for folder in sorted(present - listed.keys()):
        findings.append(Finding(MAP, table.line, "folders", f"{folder} is not in the table of folders"))
    for folder in sorted(listed.keys() - present):
        findings.append(Finding(MAP, listed[folder], "folders", f"{folder} is in the table but not in the tree"))
    return findings


def _includes(file: SourceFile):
    # Literals are blanked in `code`, so the path is read from the text where the code still has the directive.
    for match in _INCLUDE.finditer(file.text):
        if "include" in file.code[match.start() : match.end()]:
            yield file.line_of(match.start(1)), match.group(1)


def check_includes(tree: Tree) -> list[Finding]:
    """A file includes only what the row of its folder names."""
    table = table_with(tree.get(MAP), "Folder", "Job", "May include")
    if table is None:
        return []
    allowed = {folder: set(row.names("May include")) for row in table.rows for folder in row.names("Folder")}
    findings = []
    for file in tree.cpp():
        may = allowed.get(file.folder, set()) | {_short(file.folder)}
        for line, target in _includes(file):
            if "/" not in target:
                message = f'"{target}" does not say its folder; write "{_short(file.folder)}/{target}"'
                findings.append(Finding(file.path, line, "includes", message))
            elif target.split("/")[0] not in may:
                message = f'{file.folder} may not include "{target}" (see the table of folders in {MAP})'
                findings.append(Finding(file.path, line, "includes", message))
    return findings


def check_adapters(tree: Tree) -> list[Finding]:
    """Only the wiring and tests name an adapter; everybody else knows the port."""
    table = table_with(tree.get(MAP), "Port", "Adapters")
    if table is None:
        return [Finding(MAP, 1, "adapters", "there is no table with the headings Port, Adapters")]
    findings, port_of, ports = [], {}, set()
    for row in table.rows:
        ports.update(row.names("Port"))
        for adapter in row.names("Adapters"):
            port_of[adapter] = (row.names("Port") or ["its port"])[0]
        for name in row.names("Port") + row.names("Adapters"):
            if not tree.exists(f"src/{name}"):
                findings.append(Finding(MAP, row.line, "adapters", f"src/{name} does not exist"))
    for file in tree.cpp():
        if file.folder in {f"src/{port.split('/')[0]}" for port in ports} and PORT_NAME.search(file.name):
            name = file.path.removeprefix("src/")
            if name not in port_of and name not in ports:
                findings.append(Finding(MAP, table.line, "adapters", f"{name} is not in the table of adapters"))
        if file.is_test or file.folder in WIRING_FOLDERS:
            continue
        for line, target in _includes(file):
            if target in port_of and file.folder != f"src/{target.split('/')[0]}":
                message = f'only wiring and tests name an adapter; include "{port_of[target]}" instead of "{target}"'
                findings.append(Finding(file.path, line, "adapters", message))
    return findings


def check_headers(tree: Tree) -> list[Finding]:
    """A header can be included twice, and says what it is for."""
    findings = []
    for file in tree.cpp():
        if file.suffix != ".h":
            continue
        if not file.code.lstrip().startswith("#pragma once"):
            findings.append(Finding(file.path, 1, "headers", "does not start with #pragma once"))
        if not re.search(r"^\s*///", file.text, re.MULTILINE):
            findings.append(Finding(file.path, 1, "headers", "has no `///` sentence that says its job"))
    return findings


def check_own_header_first(tree: Tree) -> list[Finding]:
    """A source includes its own header first, so that the header is seen to compile alone."""
    findings = []
    for file in tree.cpp():
        header = file.path.removesuffix(".cc") + ".h"
        if file.suffix != ".cc" or tree.get(header) is None:
            continue
        line, first = next(_includes(file), (1, ""))
        if first != _short(header):
            findings.append(Finding(file.path, line, "own header", f'includes "{_short(header)}" first'))
    return findings


def check_built(tree: Tree) -> list[Finding]:
    """A source that no CMakeLists.txt names is dead code."""
    findings = []
    for file in tree.cpp():
        if file.suffix != ".cc":
            continue
        parts = file.path.split("/")[:-1]
        lists = [tree.get("/".join(parts[:count] + ["CMakeLists.txt"])) for count in range(len(parts), 0, -1)]
        nearest = next((found for found in lists if found is not None), None)
        if nearest is None or not re.search(rf"(?<![\w-]){re.escape(file.name)}\b", nearest.text):
            findings.append(Finding(file.path, 1, "built", "no CMakeLists.txt names this file: build it or delete it"))
    return findings


RULES = (check_folder_table, check_includes, check_adapters, check_headers, check_own_header_first, check_built)
