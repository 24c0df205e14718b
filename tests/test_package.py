"""The metadata of the package, and the licenses of its dependencies."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import treelet
from conftest import ROOT
from tools import minimum

HOOK = "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as made; made(sys.argv[1])"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("metadata")
    subprocess.run([sys.executable, "-c", HOOK, str(folder)], cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.dist-info/METADATA")).read_text(encoding="utf-8")


def test_links_of_the_readme_work_elsewhere(metadata: str) -> None:
    link_or_picture = re.compile(r"(!?)\[[^\]]*\]\(([^)]+)\)")
    links = link_or_picture.findall(metadata)
    here = link_or_picture.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) == len(here) > 20
    assert any(mark for mark, _ in here), "no picture"
    home = re.search(r"^Project-URL: Homepage, (\S+)$", metadata, re.MULTILINE)
    assert home is not None
    for (_, link), (mark, path) in zip(links, here, strict=True):
        form = "raw" if mark else "blob"
        assert link == (path if ":" in path else f"{home[1]}/{form}/main/{path}")
        assert ":" in path or Path(ROOT, path.split("#")[0]).exists()


def test_urls_and_extras(metadata: str) -> None:
    for name in ("Homepage", "Documentation", "Changelog", "Issues"):
        assert f"\nProject-URL: {name}, https://" in metadata
    assert '\nRequires-Dist: pandas>=2; extra == "pandas"\n' in metadata
    assert "pandas" not in " ".join(re.findall(r"^Requires-Dist: .*extra == \"nlp\"$", metadata, re.MULTILINE))


def test_extras_that_are_advised_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert [name for name, packages in extras.items() if any(package.startswith("lxml") for package in packages)] == [
        "html"
    ]
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), ROOT / "pyproject.toml"]
    advised = {
        name
        for page in pages
        for text in re.findall(r"treelet\[([a-z,]+)\]", page.read_text(encoding="utf-8"))
        for name in text.split(",")
    }
    assert advised <= set(extras)
    assert set(extras) - {"all", "cuda"} == set(extras["all"][0].removeprefix("treelet[").removesuffix("]").split(","))


def test_one_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert treelet.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_wheels_are_tested_with_all_files_that_the_tests_import(tmp_path: Path) -> None:
    wheels = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    for source in wheels["test-sources"]:
        (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, tmp_path / source)
    options = wheels["test-command"].partition(" -m pytest ")[2].split()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout


def test_licences_of_all_that_is_needed(metadata: str) -> None:
    needed = {name.lower() for name in re.findall(r"^Requires-Dist: ([\w.-]+)", metadata, re.MULTILINE)} - {"treelet"}
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert needed == set(re.findall(r"^\| ([\w-]+) \|.*\| (?:always|extra `\w+`) \|$", page, re.MULTILINE))


PERMISSIVE = re.compile(r"\b(0?BSD|MIT|Apache|ISC|PSF|PSFL|Python Software Foundation|MPL|CNRI)\b")


def license_of(name: str) -> str:
    """Return the license in the metadata of a package. A full text is cut."""
    told = importlib.metadata.metadata(name)
    kinds = [kind for kind in told.get_all("Classifier") or [] if kind.startswith("License ::")]
    return " ".join([told.get("License-Expression") or "", (told.get("License") or "")[:60], *kinds])


def installed(name: str, extras: frozenset[str]) -> Iterator[str]:
    """Yield a package and all of its installed dependencies."""
    met, asked = set(), [(name, extras)]
    while asked:
        name, extras = asked.pop()
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        if (name, extras) in met:
            continue
        met.add((name, extras))
        yield name
        asked += [
            (canonicalize_name(line.name), frozenset(line.extras))
            for line in map(Requirement, lines)
            if line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in {"", *extras})
        ]


def test_licences_are_those_of_the_packages() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| ([\w-]+) \| (\w+).*\| (?:always|extra `\w+`) \|$", page, re.MULTILINE))
    met = set(installed("treelet", frozenset({"all"})))
    assert met >= {"numpy", "scipy", "scikit-learn", "joblib", "typer", "rich"}
    assert [name for name in met & stated.keys() if stated[name] not in license_of(name)] == []
    others = {
        name: license_of(name) for name in met if not PERMISSIVE.search(license_of(name)) or "GPL" in license_of(name)
    }
    assert others == {}


@pytest.mark.parametrize(
    ("asked", "oldest"),
    [("dask[array]>=2024.8", "dask[array]==2024.8.*"), ("lxml>=5", "lxml==5.0.*"), ("x-y>=1.2.3", "x-y==1.2.3")],
)
def test_oldest_versions(asked: str, oldest: str) -> None:
    assert minimum.oldest(asked) == oldest


def test_a_requirement_without_an_oldest_version_is_refused() -> None:
    with pytest.raises(SystemExit, match="name>=version"):
        minimum.oldest("lxml")
