"""What a verification found: one row per claim, and what is to be said beside the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from cgm_cli.verify.precision import Missing, Unchecked


class Verdict(Enum):
    """HOLDS and FAILS: recomputed, and compared. CONSISTENT: nothing speaks against the claim, but what was computed
    is no proof. UNCONFIRMED: an estimate, which claims no proof, turned out too good. UNCHECKED: not recomputed.
    """

    HOLDS = "holds"
    FAILS = "fails"
    CONSISTENT = "consistent, no proof"
    UNCONFIRMED = "estimate not confirmed"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class CheckedClaim:
    """One claim. claimed, recomputed: in the user's sense. tolerance: how far they may be apart; None where nothing was
    compared. note: one sentence, or nothing. beyond: nothing that any run saves could tell.
    """

    quantity: str
    verdict: Verdict
    claimed: float | None = None
    recomputed: float | None = None
    tolerance: float | None = None
    note: str = ""
    beyond: bool = False

    @property
    def difference(self) -> float | None:
        """recomputed - claimed."""
        return None if self.claimed is None or self.recomputed is None else self.recomputed - self.claimed

    def as_dict(self) -> dict[str, Any]:
        """The row in JSON's own types."""
        return {
            "quantity": self.quantity,
            "claimed": self.claimed,
            "recomputed": self.recomputed,
            "difference": self.difference,
            "tolerance": self.tolerance,
            "verdict": self.verdict.value,
            "note": self.note,
        }


def attempted(quantity: str, claimed: float | None, work: Callable[[], CheckedClaim]) -> CheckedClaim:
    """The row that `work` makes, or one that says why there is none."""
    try:
        return work()
    except Missing as fault:
        return CheckedClaim(quantity, Verdict.FAILS, claimed, note=str(fault))
    except Unchecked as reason:
        return CheckedClaim(quantity, Verdict.UNCHECKED, claimed, note=str(reason))
    except MemoryError:
        return CheckedClaim(quantity, Verdict.UNCHECKED, claimed, note="out of memory")


@dataclass
class Report:
    """The rows of a run. status: how the run ended. messages: of what there is no row for."""

    run: Path
    status: str
    rows: list[CheckedClaim] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """No claim failed. What was not checked neither fails nor holds."""
        return not self.having(Verdict.FAILS)

    def having(self, verdict: Verdict) -> list[str]:
        """The quantities with this verdict."""
        return [row.quantity for row in self.rows if row.verdict is verdict]

    def sentence(self) -> str:
        """The outcome in words."""
        failed, unchecked = self.having(Verdict.FAILS), self.having(Verdict.UNCHECKED)
        checked = len(self.rows) - len(unchecked)
        parts = []
        if failed:
            parts.append(f"Does not hold: {', '.join(failed)}.")
        elif checked:
            parts.append(f"No claim fails of the {checked} that were checked.")
        if estimates := self.having(Verdict.UNCONFIRMED):
            parts.append(f"Estimate not confirmed: {', '.join(estimates)}.")
        if unchecked:
            parts.append(f"Not checked: {', '.join(unchecked)}.")
        return " ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """What `cgm verify --json` prints. holds: no claim failed; complete: nothing was left unchecked that could have
        been checked.
        """
        return {
            "run": str(self.run),
            "status": self.status,
            "holds": self.holds,
            "complete": bool(self.rows)
            and not any(row.verdict is Verdict.UNCHECKED and not row.beyond for row in self.rows),
            "checks": [row.as_dict() for row in self.rows],
            "messages": self.messages,
        }
