"""The package: public names, content of the wheel, and dependencies."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dpcore
from tests.benchmarks.servers import running_server
from tests.benchmarks.visitors import Shown, visitor

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
RECORD = f"dp_pca_lab-{dpcore.__version__}.dist-info/RECORD"
# The others are named alike.
DISTRIBUTION_OF = {"sklearn": "scikit-learn", "PIL": "pillow", "pptx": "python-pptx"}
# Extras, and the files that may import the libraries that only these extras install.
BROUGHT_BY = {
    "dashboard": ("dpcore/figures/", "dpcore/experiments/publish/export.py", "pages/", "app.py"),
    "federated": ("dpcore/federated/",),
    "excel": ("dpcore/release/workbook.py",),
    "cluster": (
        "dpcore/cluster.py",
        "dpcore/experiments/engine/sweep.py",
        "dpcore/release/cluster_sums.py",
    ),
}


def names_of(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def needed_by(requirements: list[str]) -> set[str]:
    """Return names of distributions with all their dependencies on this machine."""
    names: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in names:
            continue
        names.add(name)
        try:
            needs = distribution(name).requires
        except PackageNotFoundError:  # A package of another system.
            continue
        for other in map(Requirement, needs or ()):
            asked = [{"extra": extra} for extra in (*one.extras, "")]
            if other.marker is None or any(map(other.marker.evaluate, asked)):
                waiting.append(other)
    return names


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Return lines and first names of the imports of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, str(node.module).split(".")[0]


def test_the_declared_dependencies_are_what_is_imported():
    without_distribution = {*sys.stdlib_module_names, "dpcore", "pages", "_typeshed"}
    core = names_of(PROJECT["dependencies"])
    brought = {extra: core | needed_by(EXTRAS[extra]) for extra in BROUGHT_BY}
    unused = set(core)
    missing = []
    files = [path for room in ("dpcore", "pages") for path in (REPOSITORY / room).rglob("*.py")]
    for path in [*files, REPOSITORY / "app.py"]:
        place = path.relative_to(REPOSITORY).as_posix()
        extras = [extra for extra, places in BROUGHT_BY.items() if place.startswith(places)]
        # Pages import what Streamlit brings, before it does.
        declared = core.union(*(brought[extra] for extra in extras))
        for line, name in imported(path):
            if name not in without_distribution:
                package = DISTRIBUTION_OF.get(name, canonicalize_name(name))
                unused.discard(package)
                if package not in declared:
                    missing.append(f"{place}:{line} imports {name}")
    assert not missing
    assert not unused, "declared and never imported"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", folder, REPOSITORY)
    (built,) = folder.glob("*.whl")
    return built


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def environment_with(wheel: Path, requirements: list[str], home: Path) -> Path:
    """Return the program folder of an environment with the wheel and its declared dependencies."""
    venv.create(home, symlinks=True)
    (libraries,) = home.glob("lib/python*/site-packages")
    for name in needed_by(requirements):
        try:
            files = distribution(name).files or ()
        except PackageNotFoundError:
            continue  # of another system
        for part in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (libraries / part).exists():
                (libraries / part).symlink_to(Path(str(distribution(name).locate_file(part))))
    pip("--python", home / "bin" / "python", "install", "--no-deps", "--no-index", wheel)
    return home / "bin"


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment_with(wheel, PROJECT["dependencies"], tmp_path_factory.mktemp("core"))


@pytest.fixture
def call(installed: Path, tmp_path: Path):
    """Run the installed `dpcore` in an empty folder."""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "empty"
        folder.mkdir(exist_ok=True)
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment |= {"DPCORE_CACHE": str(tmp_path / "cache"), "OPENBLAS_NUM_THREADS": "1"}
        environment |= {"DPCORE_DATA": str(tmp_path), "PYTHONWARNINGS": "error"}
        return subprocess.run(
            [installed / "dpcore", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_the_wheel_holds_the_package_the_dashboard_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0] for name in names} == {
        "dpcore", "dp_pca_lab", f"dp_pca_lab-{dpcore.__version__}.dist-info",
    }  # fmt: skip
    assert wheel.stat().st_size <= 6_000_000
    listed = ("git", "ls-files", "dpcore", "pages", "app.py", "assets", ".streamlit")
    tracked = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    expected = {
        name if name.startswith("dpcore/") else f"dp_pca_lab/{name}"
        for name in tracked.stdout.splitlines()
        if (REPOSITORY / name).exists()
    }
    of_readme = {"dp_pca_lab/assets/explore.png"}
    assert names >= expected - of_readme
    assert not names & of_readme


def test_a_source_distribution_builds_the_same_wheel(wheel, tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (source,) = tmp_path.glob("*.tar.gz")
    pip("wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", tmp_path, source)
    (again,) = tmp_path.glob("*.whl")
    # RECORD lists every file with its hash.
    assert zipfile.ZipFile(again).read(f"{RECORD}") == zipfile.ZipFile(wheel).read(f"{RECORD}")


def test_without_its_extra_the_dashboard_says_what_to_install(installed, tmp_path):
    done = subprocess.run(
        [installed / "dp-pca-lab"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "without streamlit, plotly" in done.stderr
    assert "pip install 'dp-pca-lab[dashboard]'" in done.stderr


def test_the_dashboard_opens_from_the_wheel_in_an_empty_folder_and_home(wheel, tmp_path):
    needs = [*PROJECT["dependencies"], *EXTRAS["dashboard"]]
    programs = environment_with(wheel, needs, tmp_path / "environment")
    folder = tmp_path / "empty"
    folder.mkdir()
    command = [programs / "dp-pca-lab", "--server.headless", "true"]
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"]}

    async def first_page(address: str) -> Shown:
        async with visitor(address) as tab:
            return await tab.run()

    with (
        running_server(command, cwd=folder, env=environment) as (address, _),
        ThreadPoolExecutor(1) as pool,
    ):
        shown = pool.submit(asyncio.run, first_page(address)).result()
    assert shown.is_whole


# One line a command; the figures bring every path out of the package that there is.
COMMANDS = (
    "datasets --json",
    "run --dataset digits --epsilon 1 --sites 2 --components 3 --repetitions 1 --json",
    "sweep --dataset digits --vary epsilon=1 --sites 2 --components 3 --repetitions 1 --json",
    "reproduce fig1-a --repetitions 1 --json",
    "cca --dataset synthetic-views --repetitions 1 --json",
    "audit --list --json",
    "cache",
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_every_command_works_from_the_wheel_in_an_empty_folder(call, command):
    done = call(*command.split())
    assert done.returncode == 0, done.stderr
    if "--json" in command:
        document = json.loads(done.stdout)
        assert document
    if command.startswith("reproduce"):
        assert document["published"]["points"] == len(document["rows"]) > 0


@pytest.mark.parametrize(
    ("command", "library", "extra"),
    [
        ("reproduce fig1-a --out results", "plotly", "dashboard"),
        ("sweep --vary epsilon=1 --scheduler tcp://127.0.0.1:1", "dask", "cluster"),
    ],
)
def test_what_an_extra_brings_is_said_in_one_sentence(call, command, library, extra):
    """The message comes at once, and not after the rows were computed."""
    done = call(*command.split())
    assert done.returncode == 2
    assert done.stdout == ""
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("dpcore: ")]
    assert f"without {library}, which pip install 'dp-pca-lab[{extra}]' brings" in sentence


def test_the_installed_version_is_the_packages(installed):
    program = "import importlib.metadata as m; print(m.version('dp-pca-lab'))"
    command = [installed / "python", "-c", program]
    output = subprocess.run(command, cwd=installed, capture_output=True, text=True, check=True)
    assert output.stdout.strip() == dpcore.__version__


def test_every_public_name_is_there_and_is_what_types_say():
    """Names for type checkers and names at run time are two lists."""
    tree = ast.parse((REPOSITORY / "dpcore/__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dpcore")
        for alias in node.names
    }
    assert {*typed, "__version__"} == set(dpcore.__all__)
    for name, module in typed.items():
        assert getattr(dpcore, name) is getattr(sys.modules[str(module)], name)
    assert set(dpcore.__all__) < set(dir(dpcore))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        dpcore.no_such_name  # noqa: B018
