"""What ``treelet train`` says when it is done."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treelet.cli.examples import Examples
    from treelet.cli.grid import Search

SHOWN = 20  # classes
PARAMETERS = "C", "epsilon", "multi_class", "class_weight", "probability"


@dataclass(frozen=True)
class TrainingReport:
    """What was trained, and how long it took."""

    task: str
    found: Examples
    queries: list[str] | None
    machine: Any
    search: Search | None
    seconds: dict[str, float]
    output: str
    size: int
    unused: list[str]
    """What the file has and the machine does not see: what it is, and how to use it."""

    def learnt(self) -> dict[str, Any]:
        """What the examples say: classes and how many have each, or values; queries."""
        labels = self.found.labels or []
        if self.task == "classify":
            return {"classes": dict(sorted(Counter(labels).items()))}
        values = [float(label) for label in labels]
        found: dict[str, Any] = {"values": {"least": min(values), "most": max(values)}}
        return found if self.queries is None else {**found, "queries": len(set(self.queries))}

    def learnt_text(self) -> str:
        learnt = self.learnt()
        if "classes" in learnt:
            named = [f"{label} {count:,}" for label, count in learnt["classes"].items()]
            more = f", and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
            return f"classes   {len(named)}: {', '.join(named[:SHOWN])}{more}"
        queries = f", within {learnt['queries']:,} queries" if "queries" in learnt else ""
        return f"values    from {learnt['values']['least']:g} to {learnt['values']['most']:g}{queries}"

    def machine_text(self) -> str:
        machine = self.machine
        parts = [type(machine).__name__, f"C={machine.C:g}"]
        parts += [f"epsilon={machine.epsilon:g}"] if hasattr(machine, "epsilon") else []
        parts += [machine.multi_class] if hasattr(machine, "multi_class") else []
        parts += ["balanced classes"] if getattr(machine, "class_weight", None) == "balanced" else []
        parts += ["with probabilities"] if getattr(machine, "probability", False) else []
        return f"machine   {', '.join(parts)}"

    def as_dict(self) -> dict[str, Any]:
        stats = self.machine.model_.stats()
        return {
            "file": self.found.file,
            "task": self.task,
            "examples": len(self.found),
            **self.learnt(),
            "kernel": repr(self.machine.kernel),
            **{name: getattr(self.machine, name) for name in PARAMETERS if hasattr(self.machine, name)},
            "grid": None if self.search is None else self.search.as_dict(),
            "support_examples": stats.support_examples,
            "model": {**asdict(stats), "compression": stats.compression},
            "seconds": self.seconds,
            "output": self.output,
            "bytes": self.size,
        }

    def text(self) -> str:
        machine, stats = self.machine, self.machine.model_.stats()
        kept = f", {stats.kept_examples:,} examples kept as they are" if stats.kept_examples else ""
        times = ", ".join(f"{name} {value:.2f}" for name, value in self.seconds.items() if name != "total")
        lines = [] if self.search is None else [self.search.table(), ""]
        lines += [
            f"examples  {len(self.found):,} from {self.found.file}",
            self.learnt_text(),
            f"kernel    {machine.kernel!r}",
            self.machine_text(),
            f"support   {stats.support_examples:,} of {len(self.found):,} examples",
            f"model     {stats.nodes:,} nodes of support trees as {stats.distinct_subtrees:,} distinct subtrees: "
            f"{stats.model_bytes:,} bytes for {stats.support_bytes:,} ({stats.compression:.1f} times smaller){kept}",
            f"seconds   {self.seconds['total']:.2f} ({times})",
            f"file      {self.output}, {self.size:,} bytes",
        ]
        return "\n".join([*lines, *(f"not used  {what}" for what in self.unused)])
