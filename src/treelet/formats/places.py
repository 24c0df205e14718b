"""Places of trees in source files: file, lines and name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
_Rows = dict[str, NDArray[Any]]


class SourcePlace(NamedTuple):
    """Place of a tree: a file, the first and the last line, and a name.

    Attributes
    ----------
    file : str
        Name of the file as it was read.
    line : int
        First line, counted from 1.
    end_line : int or None
        Last line, or None if it is unknown.
    name : str
        Qualified name of the function or class, such as ``"Stack.push"``. Empty if there is none.

    Examples
    --------
    >>> from treelet.formats import SourcePlace
    >>> print(SourcePlace("stack.py", 12, 20, "Stack.push"))
    stack.py:12 Stack.push
    """

    file: str
    line: int
    end_line: int | None = None
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.name}".rstrip()


class Places(Sequence[SourcePlace]):
    """The places of a collection of trees, and the lines of their nodes if they are known.

    Parameters
    ----------
    files : sequence of str
        Names of files.
    file : array of int
        Per tree, the number of its file in `files`.
    line, end_line : array of int
        Per tree, its first and its last line; 0 if the last line is unknown.
    names : sequence of str
        Per tree, its name.
    node_line : array of int, optional
        Lines of nodes, parents before children, of all trees. Trees that were selected from a larger
        collection share this array, so selecting is cheap.
    begin, end : array of int, optional
        Per tree, the range of its nodes in `node_line`. A tree may be a part of another one.
    code_lines : array of int, optional
        Per tree, its number of lines of code. Default: the number of different lines of its nodes.
    """

    __slots__ = ("_files", "_names", "_node_line", "_rows")

    def __init__(
        self,
        files: Sequence[str],
        file: Any,
        line: Any,
        end_line: Any,
        names: Sequence[str],
        node_line: NDArray[Any] | None = None,
        begin: Numbers | None = None,
        end: Numbers | None = None,
        code_lines: Any = None,
    ) -> None:
        self._files, self._names, self._node_line = tuple(files), list(names), node_line
        self._rows: _Rows = {  # one value per tree; `begin` and `end` are there if `node_line` is
            name: np.asarray(values, np.int32)
            for name, values in (("file", file), ("line", line), ("end_line", end_line), ("code_lines", code_lines))
            if values is not None
        }
        if node_line is not None and begin is not None and end is not None:
            self._rows |= {"begin": begin, "end": end}
        else:
            self._node_line = None

    @classmethod
    def _of(cls, files: Sequence[str], names: Sequence[str], node_line: NDArray[Any] | None, rows: _Rows) -> Self:
        lines = (rows.get(name) for name in ("begin", "end", "code_lines"))
        return cls(files, rows["file"], rows["line"], rows["end_line"], names, node_line, *lines)

    @classmethod
    def of_file(cls, file: str, lines: Sequence[int]) -> Self:
        """Return the places of trees of one file, of which only the first lines are known."""
        n = len(lines)
        return cls([file], np.zeros(n), lines, np.zeros(n), [""] * n)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: Any) -> Any:
        """Return the place of one tree. A slice or a list of indices selects several."""
        rows = self._rows
        if isinstance(index, (int, np.integer)):
            line, end_line = int(rows["line"][index]), int(rows["end_line"][index]) or None
            return SourcePlace(self._files[rows["file"][index]], line, end_line, self._names[index])
        order = np.arange(len(self))[index]
        names = [self._names[number] for number in order.tolist()]
        return self._of(self._files, names, self._node_line, {name: values[order] for name, values in rows.items()})

    def with_file_names(self, renamed: Callable[[str], str]) -> Self:
        """Return the same places with other names of files."""
        return self._of(list(map(renamed, self._files)), self._names, self._node_line, self._rows)

    def with_files(self, files: Sequence[str], file: Any) -> Self:
        """Return the same places in other files: `file` is the number of the file of each tree."""
        return self._of(files, self._names, self._node_line, {**self._rows, "file": np.asarray(file, np.int32)})

    def __iter__(self) -> Iterator[SourcePlace]:
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Places) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # compared by content, like a list

    def node_lines(self, index: int) -> NDArray[Any] | None:
        """Return the line of each node of a tree, parents before children. None if lines of nodes are unknown."""
        if self._node_line is None:
            return None
        return self._node_line[self._rows["begin"][index] : self._rows["end"][index]]

    def code_lines(self) -> NDArray[Any] | None:
        """Return the number of lines of code of each tree. None if lines of nodes are unknown.

        These are the lines that contain more than white space, comments and docstrings of Python that were not read.
        """
        if "code_lines" not in self._rows and self._node_line is not None:  # from a file of an earlier version
            counts = [len(np.unique(self.node_lines(index))) for index in range(len(self))]  # type: ignore[arg-type]
            self._rows["code_lines"] = np.array(counts, np.int32)
        return self._rows.get("code_lines")

    def outer(self) -> Numbers:
        """Return the index of the innermost tree around each tree, or -1 if there is none or lines of nodes are unknown.

        The trees of one file share their lines of nodes, so a tree is inside another if its range is.
        """
        outer = np.full(len(self), -1, np.int64)
        if self._node_line is None:
            return outer
        begin, end, file = (self._rows[name] for name in ("begin", "end", "file"))
        around: list[int] = []
        for at in np.lexsort(
            (-end, begin, file)
        ).tolist():  # outer trees first; equal files may share their lines of nodes
            while around and (file[around[-1]] != file[at] or end[around[-1]] < end[at]):
                around.pop()
            if around:
                outer[at] = around[-1]
            around.append(at)
        return outer

    def __reduce__(self) -> tuple[Any, ...]:
        columns = (self._files, *(self._rows[name] for name in ("file", "line", "end_line")), self._names)
        if self._node_line is None:
            return type(self), columns
        # Lines that no tree needs are left out; lines that several trees share, such as nested functions, are kept once.
        begin, end = self._rows["begin"], self._rows["end"]
        change = np.zeros(len(self._node_line) + 1, np.int64)
        np.add.at(change, begin, 1)
        np.add.at(change, end, -1)
        needed = np.cumsum(change[:-1]) > 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(needed)])
        return type(self), (*columns, self._node_line[needed], before[begin], before[end], self.code_lines())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the places as arrays, for a file."""
        files, file, line, end_line, names, *lines = self.__reduce__()[1]
        arrays = {"file": file, "line": line, "end_line": end_line}
        arrays |= dict(zip(("node_line", "begin", "end", "code_lines"), lines, strict=False))
        for kind, texts in (("files", files), ("names", names)):
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
            arrays[kind] = np.frombuffer(b"".join(encoded), np.uint8)
            arrays[f"{kind}_end"] = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], trees: int) -> Self:
        """Restore the places of a number of trees. Invalid arrays raise ValueError."""
        texts = {}
        for kind in ("files", "names"):
            ends, content = arrays[f"{kind}_end"], arrays[kind].tobytes()
            if (np.diff(ends, prepend=0) < 0).any() or (int(ends[-1]) if len(ends) else 0) != len(content):
                raise ValueError(f"the {kind} of places are invalid")
            cuts = [0, *ends.tolist()]
            texts[kind] = [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]
        file, line, end_line = (arrays[name] for name in ("file", "line", "end_line"))
        lines = [arrays[name] for name in ("node_line", "begin", "end") if name in arrays]
        lines += [arrays["code_lines"]] if len(lines) == 3 and "code_lines" in arrays else []
        if any(array.shape != (trees,) for array in (file, line, end_line, *lines[1:])) or len(lines) not in (0, 3, 4):
            raise ValueError("places and trees do not match")
        if trees and not 0 <= file.min() <= file.max() < len(texts["files"]):
            raise ValueError("a place has no file")
        if (
            lines
            and trees
            and not (lines[1].min() >= 0 and (lines[1] <= lines[2]).all() and lines[2].max() <= len(lines[0]))
        ):
            raise ValueError("the lines of nodes are invalid")
        if len(texts["names"]) != trees:
            raise ValueError("places and names do not match")
        return cls(texts["files"], file, line, end_line, texts["names"], *lines)

    @classmethod
    def concat(cls, several: Iterable[Places | None]) -> Self | None:
        """Concatenate the places of several collections. The result is None if those of one are unknown."""
        parts = list(several)
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or not parts:
            return None
        files = {
            name: number for number, name in enumerate(dict.fromkeys(name for part in known for name in part._files))
        }
        numbers = [np.array([files[name] for name in part._files] or [0], np.int32) for part in known]
        rows = {
            "file": np.concatenate([own[part._rows["file"]] for own, part in zip(numbers, known, strict=True)]),
            **{name: np.concatenate([part._rows[name] for part in known]) for name in ("line", "end_line")},
        }
        names = [name for part in known for name in part._names]
        node_lines = [part._node_line for part in known if part._node_line is not None]
        if len(node_lines) < len(known):
            return cls._of(list(files), names, None, rows)
        shared, offsets = node_lines[0], [0] * len(known)
        if not all(array is shared for array in node_lines):
            shared, offsets = np.concatenate(node_lines), np.cumsum([0, *map(len, node_lines[:-1])]).tolist()
        for name in ("begin", "end"):
            ranges = zip(known, offsets, strict=True)
            rows[name] = np.concatenate([part._rows[name] + offset for part, offset in ranges])
        rows["code_lines"] = np.concatenate([part.code_lines() for part in known])
        return cls._of(list(files), names, shared, rows)
