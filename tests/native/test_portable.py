"""The source of the native core avoids constructs that some compilers lack; `make portable` runs the compilers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from conftest import ROOT

SOURCES = sorted((ROOT / "native").iterdir())
# The headers of C++20 that GCC 11, Clang 14, Apple's Clang 14 and MSVC 2019 all support fully.
STANDARD = set(
    re.findall(
        r"\w+",
        "algorithm array atomic bit bitset cassert cctype cerrno cfloat chrono climits cmath compare complex concepts "
        "condition_variable cstddef cstdint cstdio cstdlib cstring deque exception forward_list functional future "
        "initializer_list iosfwd istream iterator limits list map memory mutex new numbers numeric optional ostream queue "
        "random ratio set shared_mutex span sstream stack stdexcept string string_view thread tuple type_traits "
        "typeindex typeinfo unordered_map unordered_set utility variant vector version",
    )
)


def included(text: str) -> Iterator[str]:
    """Return the headers that a file includes for every compiler."""
    depth = 0
    for line in text.splitlines():
        depth += bool(re.match(r"\s*#\s*if", line)) - bool(re.match(r"\s*#\s*endif", line))
        if depth == 0 and (found := re.match(r"\s*#\s*include\s*<(.+)>", line)):
            yield found[1]


def test_included_whatever_the_compiler() -> None:
    text = (
        "#include <a>\n#if defined(X)\n# ifdef Y\n#include <b>\n# endif\n#else\n#include <c>\n#endif\n#  include <d>\n"
    )
    assert list(included(text)) == ["a", "d"]


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.name))
def test_headers_are_there_on_every_system(file) -> None:
    of_others = {name for name in included(file.read_text(encoding="utf-8")) if not name.startswith("nanobind/")}
    assert of_others <= STANDARD
