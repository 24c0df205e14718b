"""What a package index shows of treelet, and what an installation brings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

HOOK = "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as made; made(sys.argv[1])"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("metadata")
    subprocess.run([sys.executable, "-c", HOOK, str(folder)], cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.dist-info/METADATA")).read_text(encoding="utf-8")


def test_links_of_the_readme_work_elsewhere(metadata: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", metadata)
    here = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) == len(here) > 20
    home = re.search(r"^Project-URL: Homepage, (\S+)$", metadata, re.MULTILINE)
    assert home is not None
    for link, path in zip(links, here, strict=True):
        assert link == (path if ":" in path else f"{home[1]}/blob/main/{path}")
        assert ":" in path or Path(ROOT, path.split("#")[0]).exists()


def test_urls_and_extras(metadata: str) -> None:
    for name in ("Homepage", "Documentation", "Changelog", "Issues"):
        assert f"\nProject-URL: {name}, https://" in metadata
    assert '\nRequires-Dist: pandas>=2; extra == "pandas"\n' in metadata
    assert "pandas" not in " ".join(re.findall(r"^Requires-Dist: .*extra == \"nlp\"$", metadata, re.MULTILINE))
