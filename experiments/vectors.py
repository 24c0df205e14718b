"""Word vectors from the corpora that are there: singular vectors of weighted co-occurrences (Levy, Goldberg & Dagan 2015).

Every pair of words of a sentence at most `WINDOW` words apart co-occurs, a nearer pair more (1 / distance). Counts become positive
pointwise mutual information with the contexts' counts to the power 0.75. The largest singular values' left vectors, each times the square root
of its value, are the words' vectors. Words are in lower case, digits are zeros, sentences that occur in two corpora count once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.utils.extmath import randomized_svd

from experiments.data import corpus
from treelet.formats.files import open_source
from treelet.structures import WordVectors

WINDOW, DIMENSIONS, FEWEST, SMOOTHING = 5, 200, 5, 0.75
TREES = {
    "qc_trees": ("train.tsv",),
    "questionbank": ("4000qs.mrg",),
    "ptb_sample": ("wsj_sample.clean.tsv",),
    "masc_srl": ("trees.tsv",),
    "craft": ("trees.clean.tsv",),
    "semeval2010_t8": ("train.trees.tsv", "test.trees.tsv"),
}
"""Corpora of bracketed trees, of which only the words are read; the test questions are not among them."""
COLUMNS = {
    "conll2000": (("train.txt", "test.txt"), 0),
    "conll04": (("train.txt", "dev.txt", "test.txt"), 1),
    "ud_ewt": (("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu"), 1),
    "ud_atis": (("en_atis-ud-train.conllu", "en_atis-ud-dev.conllu", "en_atis-ud-test.conllu"), 1),
}
"""Corpora with a word a line, and in which column it is."""
CORPORA = (*TREES, *COLUMNS)
QUICK = ("qc_trees", "questionbank")

_LEAF = re.compile(r"[( ]([^()\s]+)\)")
_SPLIT = re.compile(r"[\s]+")
Sentence = tuple[str, ...]


def folded(word: str) -> str:
    """A word as the vectors know it.

    >>> folded("May"), folded("1,492")
    ('may', '0,000')
    """
    return re.sub(r"\d", "0", word.lower())


def sentences(names: Iterable[str] = CORPORA) -> Iterator[Sentence]:
    """The words of corpora, sentence by sentence."""
    for name in names:
        files, column = COLUMNS.get(name) or (TREES[name], -1)
        for file in files:
            with open_source(corpus(name, file)) as source:
                lines = (line for _, line in source.text_lines())
                if name in TREES:
                    yield from (tuple(map(folded, _LEAF.findall(line))) for line in lines)
                else:
                    yield from _columns(lines, column)


def _columns(lines: Iterable[str], column: int) -> Iterator[Sentence]:
    """Sentences of files with a word a line; an empty line or a document's head ends one.

    >>> list(_columns(["a X", "B Y", "", "#doc 3", "c Z"], 0))
    [('a', 'b'), ('c',)]
    """
    words: list[str] = []
    for line in lines:
        cells = _SPLIT.split(line.strip())
        if cells == [""] or line.startswith("#"):
            if words:
                yield tuple(words)
            words = []
        elif column == 0 or cells[0].isdigit():  # not a word of several tokens, nor one that is not there
            words.append(folded(cells[column]))
    if words:
        yield tuple(words)


def trained(
    texts: Iterable[Sequence[str]],
    without: Iterable[Sequence[str]] = (),
    dimensions: int = DIMENSIONS,
    seed: int = 0,
) -> tuple[WordVectors, dict[str, int]]:
    """Vectors of the words that occur often enough, and how much they were made from.

    Parameters
    ----------
    texts : iterable of sequences of str
        Sentences; each distinct one counts once.
    without : iterable of sequences of str
        Sentences that must not be seen, such as those of a test; compared by their letters and digits.

    Examples
    --------
    >>> texts = [(a, b, f"x{k}") for k in range(9) for a, b in [("the", "cat"), ("the", "dog"), ("my", "car")]]
    >>> vectors, made = trained(texts, dimensions=4)
    >>> made["words"], vectors.similarity("cat", "dog") > vectors.similarity("cat", "car")
    (5, True)
    """
    hidden = {_letters(sentence) for sentence in without}
    distinct = [sentence for sentence in dict.fromkeys(map(tuple, texts)) if _letters(sentence) not in hidden]
    tokens = np.array([word for sentence in distinct for word in sentence])
    names, codes, counts = np.unique(tokens, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts >= FEWEST)
    number = np.full(len(names), -1)
    number[kept] = np.arange(len(kept))
    sentence_of = np.repeat(np.arange(len(distinct)), [len(sentence) for sentence in distinct])
    matrix = _information(_cooccurrences(number[codes], sentence_of, len(kept)))
    left, values, _ = randomized_svd(matrix, min(dimensions, len(kept) - 1), n_iter=4, random_state=seed)
    made = {"sentences": len(distinct), "tokens": len(tokens), "words": len(kept), "pairs": int(matrix.nnz)}
    return WordVectors(names[kept].tolist(), left * np.sqrt(values)), made


def of_forms(vectors: WordVectors, words: Iterable[str]) -> WordVectors:
    """Vectors for words as they are written, capitals and digits included.

    >>> of_forms(WordVectors(["may", "0"], [[1, 0], [0, 1]]), ["May", "7", "unheard"]).similarity("7", "0")
    0.0
    >>> len(of_forms(WordVectors(["may", "0"], [[1, 0], [0, 1]]), ["May", "7", "unheard"]))
    2
    """
    known = [word for word in dict.fromkeys(words) if folded(word) in vectors]
    return WordVectors(known, vectors.unit[[vectors.index[folded(word)] for word in known]])


class Alike(WordVectors):
    """Words that are alike by a power of the cosine, and by so much less that kernels over them stay positive semi-definite.

    Where similarities up to a threshold count as none, those that are left may be those of no vectors: then the kernel's matrix has
    negative eigenvalues, and a support vector machine learns nonsense from it. Here all similarities of different words are multiplied by the
    largest number, `share`, with which the matrix of the words' similarities has none.

    Parameters
    ----------
    vectors : WordVectors
    threshold : float
        That of the kernel, on the cosine.
    exponent : float
        What the cosine is raised to.

    Examples
    --------
    >>> near = WordVectors(["a", "b", "c"], [[1, 0], [1, 1], [0, 1]])
    >>> Alike(near, 0.5, 2).similar(["a", "b", "c"], 0.5)[2].round(2)
    array([0.5, 0.5, 0.5, 0.5])
    >>> round(Alike(near, 0.5, 0.5).share, 2)
    0.84
    """

    def __init__(self, vectors: WordVectors, threshold: float, exponent: float) -> None:
        self.index, self.unit = vectors.index, vectors.unit
        self.exponent, self.share = exponent, 1.0
        start, label, sigma = self.similar(list(self.index), threshold)
        cut = sparse.csr_matrix((sigma, label, start), (len(self.index),) * 2)
        lowest = float(eigsh(cut, k=1, which="SA", return_eigenvectors=False, tol=1e-4, v0=np.ones(len(self.index)))[0])
        self.share = min(1.0, -0.999 / lowest) if lowest < 0 else 1.0

    def similar(
        self, labels: Sequence[str], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        start, label, sigma = super().similar(labels, threshold)
        return start, label, self.share * sigma**self.exponent


def _letters(sentence: Iterable[str]) -> str:
    return "".join(c for c in "".join(map(folded, sentence)) if c.isalnum())


def _cooccurrences(codes: NDArray[np.intp], sentence_of: NDArray[np.intp], words: int) -> sparse.csr_matrix:
    """Count co-occurrences of words, weighted by 1 / distance. Negative codes are ignored words, which still count for the distance."""
    total = sparse.csr_matrix((words, words))
    for distance in range(1, WINDOW + 1):
        first, second = codes[:-distance], codes[distance:]
        near = (sentence_of[:-distance] == sentence_of[distance:]) & (first >= 0) & (second >= 0)
        weights = np.full(int(near.sum()), 1 / distance)
        total = total + sparse.csr_matrix((weights, (first[near], second[near])), (words, words))
    return (total + total.T).tocsr()


def _information(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Positive pointwise mutual information, contexts' counts smoothed."""
    cells = counts.tocoo()
    rows = np.asarray(counts.sum(axis=1)).ravel()
    columns = rows**SMOOTHING
    values = np.log(cells.data * columns.sum() / (rows[cells.row] * columns[cells.col]))
    found = sparse.csr_matrix((np.maximum(values, 0), (cells.row, cells.col)), counts.shape)
    found.eliminate_zeros()
    return found
