"""Test a wheel in a clean environment: python tools/try_wheel.py WHEEL FOLDER, with the Python version of the wheel.

A new environment with only the wheel and its dependencies runs tools/smoke.py, and every import must pass without a warning.
Then the tests of cibuildwheel run on a copy of the test folder, outside of any checkout: test-requires, test-sources and
test-command of pyproject.toml.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOADED = "import treelet; [getattr(treelet, name) for name in treelet.__all__]"


def main(wheel: Path, folder: Path) -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder / "venv", with_pip=True)
    binaries = folder.resolve() / "venv" / ("Scripts" if os.name == "nt" else "bin")
    here = folder / "sources"
    here.mkdir()
    for source in asked["test-sources"]:
        (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, here / source)
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    surroundings["PATH"] = f"{binaries}{os.pathsep}{surroundings['PATH']}"

    def run(*command: str, **how: bool) -> None:
        subprocess.run(command[0] if how else command, check=True, cwd=here, env=surroundings, **how)

    python = str(binaries / "python")
    run(python, "-m", "pip", "install", "-q", str(wheel.resolve()))
    run(python, "tools/smoke.py")
    run(python, "-W", "error", "-c", LOADED)
    run(python, "-m", "pip", "install", "-q", *asked["test-requires"])
    run(asked["test-command"], shell=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
