"""Seven feature sequences of a dependency parse, for sequence kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import combinations

from treelet.checks import article
from treelet.errors import InputTypeError, TreeError
from treelet.formats.conllu import reader_of
from treelet.structures.bank import listed
from treelet.structures.dependency import Dependencies
from treelet.structures.dependency_bank import DependencyBank
from treelet.structures.sequence_bank import SequenceBank

FEATURES = (
    "bigram",
    "word_tag",
    "link_type",
    "word_link_type",
    "link_length",
    "link_length_type",
    "link_bigram",
)


def feature_sequences(parse: Dependencies) -> dict[str, list[Hashable]]:
    """Compute the seven feature sequences of Tsivtsivadze et al. (2006, section 3).

    - ``"bigram"``: the two words of each link;
    - ``"word_tag"``: each word with its tag;
    - ``"link_type"``: the type of each link;
    - ``"word_link_type"``: each word with the type of each of its links;
    - ``"link_length"``: the distance between the words of each link, 1 for neighbors;
    - ``"link_length_type"``: the length of each link with its type;
    - ``"link_bigram"``: the types of each pair of links of each word, the leftmost link first.

    Features of links are ordered by the left word of the link, then by the right word. Features of
    words are ordered by the word, then by the other ends of its links.

    Parameters
    ----------
    parse : Dependencies
        The direction of links is ignored. In a parse with heads, each word other than a root has one
        link, to its head.

    Returns
    -------
    dict of str to list
        The sequences by name. The features are strings, numbers, and pairs of these.

    Examples
    --------
    >>> from treelet import Dependencies
    >>> from treelet.cuts import feature_sequences
    >>> parse = Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(0, 1, "Sp"), (1, 2, "MVa")])
    >>> for name, sequence in feature_sequences(parse).items():
    ...     print(name, sequence)
    bigram [('dogs', 'bark'), ('bark', 'loudly')]
    word_tag [('dogs', 'n'), ('bark', 'v'), ('loudly', 'e')]
    link_type ['Sp', 'MVa']
    word_link_type [('dogs', 'Sp'), ('bark', 'Sp'), ('bark', 'MVa'), ('loudly', 'MVa')]
    link_length [1, 1]
    link_length_type [(1, 'Sp'), (1, 'MVa')]
    link_bigram [('Sp', 'MVa')]
    """
    if not isinstance(parse, Dependencies):
        raise InputTypeError(f"feature_sequences needs Dependencies. Got {article(type(parse).__name__)} instead.")
    words, links = parse.words, parse.links
    own: list[list[tuple[int, str]]] = [[] for _ in words]  # the links of each word: the other end and the type
    for left, right, kind in links:
        own[left].append((right, kind))
        own[right].append((left, kind))
    for ends in own:
        ends.sort()
    return {
        "bigram": [(words[left], words[right]) for left, right, _ in links],
        "word_tag": list(zip(words, parse.tags, strict=True)),
        "link_type": [kind for _, _, kind in links],
        "word_link_type": [(word, kind) for word, ends in zip(words, own, strict=True) for _, kind in ends],
        "link_length": [right - left for left, right, _ in links],
        "link_length_type": [(right - left, kind) for left, right, kind in links],
        "link_bigram": [(first, second) for ends in own for (_, first), (_, second) in combinations(ends, 2)],
    }


def feature_words(parse: Dependencies) -> dict[str, list[tuple[int, ...]]]:
    """Return the positions of the words that each feature of `feature_sequences` describes.

    The feature of a link describes two words, the feature of a word describes one.

    >>> from treelet import Dependencies
    >>> parse = Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(0, 1, "Sp"), (1, 2, "MVa")])
    >>> feature_words(parse)["link_type"], feature_words(parse)["link_bigram"]
    ([(0, 1), (1, 2)], [(1,)])
    """
    ends: list[tuple[int, ...]] = [(left, right) for left, right, _ in parse.links]
    links = Counter(word for pair in ends for word in pair)
    own_words: dict[str, list[tuple[int, ...]]] = {
        "word_tag": [(word,) for word in range(len(parse.words))],
        "word_link_type": [(word,) for word in range(len(parse.words)) for _ in range(links[word])],
        "link_bigram": [
            (word,) for word in range(len(parse.words)) for _ in range(links[word] * (links[word] - 1) // 2)
        ],
    }
    return {name: own_words.get(name, ends) for name in FEATURES}


def as_sequencebank(examples: object) -> SequenceBank:
    """Convert a collection to a SequenceBank. Dependency parses are replaced by their `feature_sequences`.

    Parses of spaCy, stanza and conllu are converted to `Dependencies` with universal tags.

    >>> from treelet import Dependencies
    >>> as_sequencebank([["a", "b"], Dependencies(["dogs", "bark"], ["n", "v"], [(0, 1, "Sp")])])
    <SequenceBank: 2 examples, 7 sequences, 10 features, 10 distinct, 7 types>
    """
    if isinstance(examples, SequenceBank):
        return examples
    single = (Dependencies, dict) if reader_of(examples) is None else (type(examples),)
    items = listed(examples, "feature sequences", single, banks=(DependencyBank,))
    parses = [_as_parse(number, item) for number, item in enumerate(items)]
    return SequenceBank([feature_sequences(item) if isinstance(item, Dependencies) else item for item in parses])


def _as_parse(number: int, item: object) -> object:
    """Convert a parse of another library. Other examples are returned unchanged."""
    if isinstance(item, Dependencies):
        return item
    if (reader := reader_of(item)) is None:
        if hasattr(item, "sentences"):
            raise InputTypeError(f"Example {number} is {article(type(item).__name__)}. Pass each of its sentences.")
        return item
    try:
        return Dependencies.from_heads(**reader(item, "upos")._asdict())
    except TreeError as error:
        raise TreeError(f"example {number}: {error}") from None
