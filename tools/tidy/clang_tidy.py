#!/usr/bin/env python3
"""Runs clang-tidy on the first-party sources that changed since it last found nothing in them.

A source counts as changed when it, a first-party header that it includes, a .clang-tidy above it or the tool itself has
changed. A clean result leaves a stamp in the build folder, named by the hash of all of these.

Tests and fuzz targets are left out: they are a third of the time, and what is found in them is what a test does on
purpose (a value that has to be there, a call whose answer does not matter). A test that is wrong fails.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAMPS = ROOT / "build" / "clang-tidy"
FOLDERS = ("src", "sim", "bench", "e2e")
LEFT_OUT = ("_test.cc", "_fuzz.cc")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def included_by(source: Path) -> list[Path]:
    """The source and every first-party header it reaches, in a stable order."""
    seen, waiting = {source}, [source]
    while waiting:
        for name in _INCLUDE.findall(waiting.pop().read_text(encoding="utf-8")):
            for base in (ROOT / "src", ROOT):
                header = base / name
                if header.is_file() and header not in seen:
                    seen.add(header)
                    waiting.append(header)
    return sorted(seen)


def stamp_of(source: Path, arguments: str, tool: str) -> Path:
    digest = hashlib.sha256(f"{tool}\n{arguments}\n".encode())
    settings = [folder / ".clang-tidy" for folder in source.parents if folder.is_relative_to(ROOT)]
    for path in [*(path for path in settings if path.is_file()), *included_by(source)]:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return STAMPS / digest.hexdigest()


def sources_of(build: Path) -> dict[Path, str]:
    """First-party sources of the compilation database with the arguments they are compiled with."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    found = {}
    for entry in entries:
        path = Path(entry["directory"], entry["file"]).resolve()
        is_ours = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS and path.exists()
        if is_ours and not path.name.endswith(LEFT_OUT):
            found[path] = entry["command"].replace(str(ROOT), "")
    return found


def check(tool: str, build: Path, source: Path, stamp: Path) -> tuple[Path, str]:
    """Runs the tool on one source; returns what it said, empty if nothing."""
    run = subprocess.run(
        [tool, "--quiet", "-p", str(build), str(source)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if run.returncode == 0:
        stamp.touch()
        return source, ""
    return source, run.stdout + run.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="a build folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tool", default="clang-tidy-19")
    options = parser.parse_args()

    STAMPS.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([options.tool, "--version"], capture_output=True, text=True, check=True).stdout
    stamps = {path: stamp_of(path, command, version) for path, command in sources_of(options.build).items()}
    waiting = sorted(path for path, stamp in stamps.items() if not stamp.exists())
    begin, failed = time.monotonic(), 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for source, said in pool.map(lambda path: check(options.tool, options.build, path, stamps[path]), waiting):
            if said:
                failed += 1
                print(f"--- {source.relative_to(ROOT)}\n{said}", flush=True)
    seconds = time.monotonic() - begin
    print(f"clang-tidy: {len(stamps)} sources, {len(waiting)} changed, {failed} with findings, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
