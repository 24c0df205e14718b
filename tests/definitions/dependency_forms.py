"""Dependency parses as trees, written to be read."""

from __future__ import annotations

from treelet.formats.adapters import safe_label
from treelet.structures import Dependencies, Tree


def dependency_tree(
    parse: Dependencies,
    form: str,
    *,
    lemmas: bool = False,
    lowercase: bool = False,
    letters: bool = False,
    prefixes: bool = False,
) -> Tree:
    """What `treelet.cuts.dependency_tree` must give, by recursion over the words of a parse with heads."""
    marks = ("SYNT##", "POS##", "LEX##") if prefixes else ("", "", "")

    def built(place: int) -> Tree:
        word = parse.words[place]
        if lemmas and parse.lemmas is not None and parse.lemmas[place] != "_":
            word = parse.lemmas[place]
        word = word.lower() if lowercase else word
        word = f"{word}::{parse.tags[place][0].lower()}" if letters else word
        texts = (parse.relations[place], parse.tags[place], word)  # type: ignore[index]
        r, t, w = (mark + safe_label(text) for mark, text in zip(marks, texts, strict=True))
        before = [built(k) for k in below[place + 1] if k < place]
        after = [built(k) for k in below[place + 1] if k > place]
        if form == "grct":
            return Tree(r, [*before, Tree(t, [w]), *after])
        if form == "lct":
            return Tree(w, [*before, *after, t, r])
        if form == "loct":
            return Tree(w, [*before, *after])
        return Tree(t, [*before, *after, w, r])

    below: list[list[int]] = [[] for _ in range(len(parse) + 1)]
    for place, head in enumerate(parse.heads):  # type: ignore[arg-type]
        below[head].append(place)
    roots = [built(place) for place in below[0]]
    return roots[0] if len(roots) == 1 else Tree(marks[0] + "ROOT", roots)
