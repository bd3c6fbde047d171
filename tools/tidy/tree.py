"""The tree as the rules see it: first-party files by path, their text, and C++ without comments and strings."""

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SKIPPED_FOLDERS = {".git", "build", "node_modules", "weir-data", ".cache", "__pycache__", ".vscode", ".idea"}
CODE_FOLDERS = ("src", "sim", "bench", "e2e", "web")
CPP_SUFFIXES = {".cc", ".h"}
TEXT_BYTES_MAX = 2 * 1024 * 1024

_CPP_TOKEN = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"([^(\s]*)\(.*?\)\1"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, order=True)
class Finding:
    """One breach: where it is, which rule it breaks, and what to do instead."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


@dataclass(frozen=True)
class SourceFile:
    """One text file; `path` is relative to the root, with forward slashes."""

    path: str
    text: str

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    @property
    def is_cpp(self) -> bool:
        return self.suffix in CPP_SUFFIXES

    @property
    def is_test(self) -> bool:
        """Whether the file is compiled into tests only."""
        return bool(re.search(r"_(test|fuzz|conformance|fixture|bench|bed|testing)\.(cc|h)$", self.name))

    @property
    def folder(self) -> str:
        """`src/gate` for what lies under src, else the top folder; empty for files in the root."""
        parts = self.path.split("/")
        if parts[0] == "src":
            return "/".join(parts[:2]) if len(parts) > 2 else "src"
        return parts[0] if len(parts) > 1 else ""

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def code(self) -> str:
        """C++ with comments and literals blanked out; line numbers stay."""

        def blank(match: re.Match) -> str:
            return re.sub(r"[^\n]", " ", match.group(0))

        return _CPP_TOKEN.sub(blank, self.text)

    def line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1


class Tree:
    """All first-party text files under a root. What git ignores is not first-party."""

    def __init__(self, root: Path):
        self.root = root
        self.files = sorted(self._read_all(), key=lambda file: file.path)
        self._by_path = {file.path: file for file in self.files}

    def _read_all(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            for name in names:
                path = Path(folder) / name
                if path.is_symlink() or path.stat().st_size > TEXT_BYTES_MAX:
                    continue
                try:
                    text = path.read_bytes().decode("utf-8")
                except UnicodeDecodeError:
                    continue
                if "\0" not in text:
                    yield SourceFile(path.relative_to(self.root).as_posix(), text)

    def get(self, path: str) -> SourceFile | None:
        return self._by_path.get(path)

    def exists(self, path: str) -> bool:
        return (self.root / path).exists()

    def cpp(self) -> list[SourceFile]:
        return [file for file in self.files if file.is_cpp and file.path.split("/")[0] in CODE_FOLDERS]

    def documents(self) -> list[SourceFile]:
        return [file for file in self.files if file.suffix == ".md"]
