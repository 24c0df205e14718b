"""Print the oldest versions that pyproject.toml allows, of all dependencies and extras except cuda, for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def oldest(requirement: str) -> str:
    """Return a requirement of the form name>=version as name==version.

    >>> oldest("dask[array]>=2024.8"), oldest("lxml>=5"), oldest("x>=1.2.3")
    ('dask[array]==2024.8.*', 'lxml==5.0.*', 'x==1.2.3')
    """
    found = re.fullmatch(r"([\w.-]+(?:\[\w+\])?)>=([\d.]+)", requirement)
    if found is None:
        raise SystemExit(f"{PROJECT}: {requirement!r} does not have the form name>=version")
    name, version = found.groups()
    parts = version.split(".")
    return f"{name}=={version}" if len(parts) > 2 else f"{name}=={'.'.join([*parts, '0'][:2])}.*"


def main() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [
        *project["dependencies"],
        *(line for name in extras if name not in ("cuda", "all") for line in extras[name]),
    ]
    print("\n".join(map(oldest, needed)))


if __name__ == "__main__":
    main()
