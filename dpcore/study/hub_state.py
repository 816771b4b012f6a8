"""Where a study is, as its hub writes it down."""

from __future__ import annotations

from dataclasses import dataclass, field

JOINING, DONE, FAILED = "joining", "done", "failed"


@dataclass(frozen=True)
class HubState:
    """Where a study is.

    Parameters
    ----------
    phase : {"joining", "sum", "moment", "done", "failed"}
    keys : dict of str to str
        Public keys of the sites that have joined.
    attempt : int
        0 before the first.
    roster : tuple of str
        Sites of this attempt.
    answered : tuple of str
        Those that have sent what this round asks for.
    refused : dict of str to str
        Sentences of those that refused it.
    centre : tuple of int
    n_rows : float
        Noisy.
    deadline : float
        When this phase ends, in seconds since the epoch.
    why : str
        Of a study that failed, in one sentence.
    sent_bytes : dict of str to int
        What each site has sent in all.
    events : tuple of (seconds, sentence)
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
