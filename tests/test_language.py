"""Language of the sources and documentation: counts per file that may only go down.

    python -m tests.test_language            # list every finding
    python -m tests.test_language FILE...    # list the findings in these files
    python -m tests.test_language --record   # write lower counts to tests/language_counts.json

Four kinds of findings are counted in each file:

starts
    A docstring, comment, attribute line or parameter description that starts with a word of
    `BAD_STARTS`, or a function docstring that starts with a noun phrase instead of a verb.
words
    A phrase of `BAD_PHRASES` in a docstring, comment, string or Markdown text.
names
    A function, class, parameter, attribute or variable whose name is in `BAD_NAMES`.
references
    A backticked dotted name or path in the documentation that the code does not contain.

A file without a recorded count must have no finding.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COUNTS_FILE = Path(__file__).with_name("language_counts.json")
KINDS = ("starts", "words", "names", "references")

BAD_STARTS = frozenset(
    """What Whatever Whoever Of That As From Those So Where Who Nothing Nobody It They By In At For
    With""".split()
)
# First words of a noun phrase, where the docstring of a function needs a verb.
NOUN_STARTS = frozenset("The A An Whether How Every Each All This These Its One".split())
BAD_PHRASES = re.compile(
    r"\b(who(?:so)?m?ever|somebody|anybody|nobody|everybody|so many|beside|alone|stands"
    r"|(?:is|are|be|was) (?:told|asked)|lets? go|letting go|hands? on|gives? way|go(?:es)? on"
    r"|going on|once more|at a time)\b",
    re.IGNORECASE,
)
BAD_NAMES = frozenset(
    """told asked held shown kept taken left around heard said wanted given known lost seen beside
    apart along away whoever whose door knock books house museum""".split()
)
# Subjects of this commit and older ones are not checked.
FIRST_CHECKED_COMMIT = "c200a9179fbbd0850dc33fd31c39a5b61b139654"
MAX_SUBJECT = 72


@dataclass(frozen=True)
class Finding:
    """One finding: its kind, line and text."""

    kind: str
    line: int
    text: str


def checked_files() -> list[Path]:
    """Return the sources and documents whose language is checked."""
    sources = [ROOT / "app.py", *(ROOT / "dpcore").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [*(ROOT / "dpcore").rglob("*.md"), *(ROOT / "pages").rglob("*.md")]
    return sorted(sources + documents + texts)


def findings(path: Path) -> list[Finding]:
    """Return all findings in one file."""
    text = path.read_text(encoding="utf-8")
    found = source_findings(text) if path.suffix == ".py" else document_findings(text)
    return sorted(found, key=lambda finding: finding.line)


def source_findings(text: str) -> Iterator[Finding]:
    """Yield the findings in Python source."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property(node):
            docstring = ast.get_docstring(node) or ""
            if docstring.split(" ")[0] in NOUN_STARTS:
                yield Finding("starts", node.lineno, docstring.splitlines()[0])
        if isinstance(node, ast.Expr) and is_string(node.value):
            for offset, line in described_lines(node.value.value):
                yield from start_findings(node.lineno + offset, line)
        if is_string(node):
            yield from phrase_findings(node.lineno, node.value)
    for line_number, comment in comment_blocks(text):
        yield from start_findings(line_number, comment)
        yield from phrase_findings(line_number, comment)
    for name, line_number in defined_names(tree).items():
        if name.strip("_") in BAD_NAMES:
            yield Finding("names", line_number, name)


def is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any(decorator.endswith(("property", ".setter")) for decorator in decorators)


def described_lines(docstring: str) -> Iterator[tuple[int, str]]:
    """Yield the starts of a docstring: its first line and the descriptions of its fields."""
    lines = docstring.splitlines()
    if lines:
        yield 0, lines[0]
    previous = ""
    for number, line in enumerate(lines):
        field = re.match(r"\s*[`*]*\w+[`*]*(?:, [`*]*\w+[`*]*)*: (?=[A-Z])(.*)", line)
        if number and field:
            yield number, field.group(1)
        elif re.match(r"\s*\w[\w, *]* : ", previous) and indentation(line) > indentation(previous):
            yield number, line
        previous = line


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def comment_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield adjacent comment lines as one text, with the number of the first line."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        is_trailing = bool(token.line[: token.start[1]].strip())
        if block and (line != last + 1 or is_trailing):
            yield first, " ".join(block)
            block = []
        if not block:
            first = line
        block.append(token.string.lstrip("#: "))
        last = line
    if block:
        yield first, " ".join(block)


def start_findings(line: int, text: str) -> Iterator[Finding]:
    words = text.split()
    if words and words[0].rstrip(",") in BAD_STARTS:
        yield Finding("starts", line, text.strip()[:80])


def phrase_findings(line: int, text: str) -> Iterator[Finding]:
    for match in BAD_PHRASES.finditer(text):
        start, end = max(0, match.start() - 30), match.end() + 30
        number = line + text.count("\n", 0, match.start())
        yield Finding("words", number, " ".join(text[start:end].split()))


def defined_names(tree: ast.AST) -> dict[str, int]:
    """Return each name that the source defines, with the first line that defines it."""
    names: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.attr
        else:
            continue
        names[name] = min(names.get(name, node.lineno), node.lineno)
    return names


def document_findings(text: str) -> Iterator[Finding]:
    """Yield the findings in Markdown: phrases outside code, and names the code lacks."""
    without_code = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", blank_lines, text)
    yield from phrase_findings(1, without_code)
    for match in re.finditer(r"`([^`\n]+)`", text):
        reference = match.group(1)
        if not reference_exists(reference):
            line = text.count("\n", 0, match.start()) + 1
            yield Finding("references", line, reference)


def blank_lines(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def reference_exists(reference: str) -> bool:
    """Return whether a dotted name or path exists; True for any other text."""
    reference = reference.split("(", maxsplit=1)[0].split("::", maxsplit=1)[0]
    if re.fullmatch(r"[\w./-]+\.py", reference):
        places = [ROOT, ROOT / "dpcore", ROOT / "pages", ROOT / "tests"]
        if "/" in reference:
            return any((place / reference).exists() for place in places)
        return any(True for place in places for _ in place.rglob(reference))
    if not re.fullmatch(r"(dpcore|pages)(\.\w+)+", reference):
        return True
    folder, parts = ROOT, reference.split(".")
    while parts and (folder / parts[0]).is_dir():
        folder /= parts.pop(0)
    if not parts:
        return True
    module = folder / f"{parts[0]}.py"
    if module.exists():
        parts.pop(0)
    else:
        module = folder / "__init__.py"
    source = module.read_text(encoding="utf-8") if module.exists() else ""
    return all(re.search(rf"\b{part}\b", source) for part in parts)


def count(found: Iterable[Finding]) -> dict[str, int]:
    """Return the number of findings of each kind that occurs."""
    totals = Counter(finding.kind for finding in found)
    return {kind: totals[kind] for kind in KINDS if totals[kind]}


def recorded_counts() -> dict[str, dict[str, int]]:
    if not COUNTS_FILE.exists():
        return {}
    counts: dict[str, dict[str, int]] = json.loads(COUNTS_FILE.read_text(encoding="utf-8"))
    return counts


def record() -> None:
    """Write lower counts. A new file gets a count only if the total of its folder does not rise.

    The exception lets a file be split: its findings move to the new files.
    """
    before = recorded_counts()
    now = {relative_name(path): count(findings(path)) for path in checked_files()}
    totals_before, totals_now = folder_totals(before), folder_totals(now)
    lines = []
    for name, counts in now.items():
        folder = Path(name).parent
        if before and name not in before and totals_now[folder] > totals_before[folder]:
            continue
        limits = before.get(name, counts)
        lower = {kind: min(counts.get(kind, 0), limit) for kind, limit in limits.items()}
        lower = {kind: limit for kind, limit in lower.items() if limit}
        if lower:
            lines.append(f'  "{name}": {json.dumps(lower)}')
    COUNTS_FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def folder_totals(counts: dict[str, dict[str, int]]) -> Counter[Path]:
    """Return the number of recorded findings in each folder."""
    totals: Counter[Path] = Counter()
    for name, kinds in counts.items():
        totals[Path(name).parent] += sum(kinds.values())
    return totals


def relative_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", checked_files(), ids=relative_name)
def test_language_of_a_file_gets_no_worse(path):
    found = findings(path)
    limits = recorded_counts().get(relative_name(path), {})
    worse = [kind for kind, number in count(found).items() if number > limits.get(kind, 0)]
    lines = [
        f"{relative_name(path)}:{each.line}: {each.kind}: {each.text}"
        for each in found
        if each.kind in worse
    ]
    assert not worse, f"more than the recorded {limits}:\n" + "\n".join(lines)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('def f():\n    """Whoever asks."""\n', {"starts": 1, "words": 1}),
        ('def f():\n    """The sum."""\n', {"starts": 1}),
        ('def f():\n    """Return the sum."""\n', {}),
        ('class C:\n    """The sum."""\n', {}),
        ('class C:\n    """Sum.\n\n    left: Of each site, a number.\n    """\n', {"starts": 1}),
        (
            'def f(n):\n    """Return n.\n\n    n : int\n        At least 1.\n    """\n',
            {"starts": 1},
        ),
        ("# For speed,\n# in blocks.\nx = 1\n", {"starts": 1}),
        ("x = 1  # a blob beside it\n", {"words": 1}),
        ("def told(asked):\n    self.kept = asked\n", {"names": 3}),
        ('x = "Nobody knows"\n', {"words": 1}),
    ],
)
def test_findings_in_sources(source, expected):
    assert count(source_findings(source)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A site alone.", {"words": 1}),
        ("A `site alone`.\n```\nalone\n```\n", {}),
        ("`dpcore.pca.DistributedPCA`, `dpcore/streams.py`, `streams.py`, `dpcore.streams`", {}),
        ("`dpcore.pca.Missing`, `dpcore/missing.py`, `dpcore.missing.name`", {"references": 3}),
    ],
)
def test_findings_in_documents(text, expected):
    assert count(document_findings(text)) == expected


def test_commit_subjects_are_short_sentences():
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    try:
        subjects = git("log", "--format=%s", f"{FIRST_CHECKED_COMMIT}..HEAD").splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git history that contains the first checked commit")
    wrong = [
        subject
        for subject in subjects
        if len(subject) > MAX_SUBJECT or not subject[:1].isupper() or subject.endswith(".")
    ]
    assert not wrong


def main(arguments: list[str]) -> None:
    if arguments == ["--record"]:
        record()
        return
    paths = [Path(argument).resolve() for argument in arguments] or checked_files()
    total: Counter[str] = Counter()
    for path in paths:
        found = findings(path)
        total.update(each.kind for each in found)
        for each in found:
            print(f"{relative_name(path)}:{each.line}: {each.kind}: {each.text}")  # noqa: T201
    print(", ".join(f"{total[kind]} {kind}" for kind in KINDS))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
