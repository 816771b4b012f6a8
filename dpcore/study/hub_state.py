"""Where a study is, as its hub writes it down."""

from __future__ import annotations

from dataclasses import dataclass, field

JOINING, DONE, FAILED = "joining", "done", "failed"


@dataclass(frozen=True)
class HubState:
    """Where a study is.

    phase: {"joining", "sum", "moment", "done", "failed"}
    keys: Public keys of the sites that have joined.
    attempt: 0 before the first.
    roster: Sites of this attempt.
    answered: Those that have sent what this round asks for.
    refused: Sentences of those that refused it.
    n_rows: Noisy.
    deadline: When this phase ends, in seconds since the epoch.
    why: Of a study that failed, in one sentence.
    sent_bytes: What each site has sent in all.
    events: tuple of (seconds, sentence)
    """

    phase: str
    deadline: float
    keys: dict[str, str] = field(default_factory=dict)
    attempt: int = 0
    roster: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    centre: tuple[int, ...] = ()
    n_rows: float = 0.0
    why: str = ""
    sent_bytes: dict[str, int] = field(default_factory=dict)
    events: tuple[tuple[float, str], ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.phase in (DONE, FAILED)
