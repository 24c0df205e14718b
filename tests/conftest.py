"""Where the real data lies, if it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("mutants", settings.get_profile("default"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("TREELET_HYPOTHESIS", "default"))

DATA = Path(os.environ.get("TREELET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    if not DATA.is_dir():
        pytest.skip("needs the corpora: set TREELET_DATA to their folder")
    return DATA


@pytest.fixture(scope="session")
def wsj(data_dir: Path):
    import treelet

    return treelet.read_trees(data_dir / "ptb_sample" / "wsj_sample.clean.tsv.xz", format="tsv")
