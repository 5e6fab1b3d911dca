"""The arithmetic of a run: batches of a pass, steps of a turn, schedules of learning rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aleator.training.head_bank import uses_batch_norm
from aleator.training.method import Method, ParameterGroup, Phase
from aleator.training.plan import Duration
from aleator.training.sampler import batch_sizes
from aleator.training.schedules import Schedule

if TYPE_CHECKING:
    from aleator.training.phase_state import PhaseState


class Passes:
    """How many rows a step takes, and how many steps a pass, a turn and a run have.

    Parameters
    ----------
    method : Method
        What is trained.
    length : int
        Samples per pass.
    batch_size : int
        Samples per step.
    duration : Duration
        Number of rounds through the phases.
    schedule : str, default="constant"
        Schedule of the groups that do not have their own.
    warmup : int, default=0
        Rounds of warm-up.
    drop_last : bool, default=False
        Whether the last, smaller batch of a pass is dropped.

    Attributes
    ----------
    sizes : list of int
        Samples of every batch of a pass.

    Examples
    --------
    >>> phase = Phase("fit", [], [], (), tuple, sum, repeats=2)
    >>> passes = Passes(Method({}, [phase]), length=10, batch_size=4, duration=Duration(3))
    >>> passes.sizes, passes.steps_per_turn(phase), passes.total_steps
    ([4, 4, 2], 6, 18)
    """

    def __init__(
        self,
        method: Method,
        length: int,
        batch_size: int,
        duration: Duration,
        *,
        schedule: str = "constant",
        warmup: int = 0,
        drop_last: bool = False,
    ) -> None:
        self._phases = method.phases
        self._duration = duration
        self._schedule = schedule
        self._warmup = warmup
        several_rows = any(
            uses_batch_norm(module) for phase in method.phases for module in phase.train_mode
        )
        self.sizes = batch_sizes(
            length, batch_size, avoid_single_row=several_rows, drop_last=drop_last
        )
        if several_rows and 1 in self.sizes:
            raise ValueError(
                "batch normalization cannot train on batches of one row: increase batch_size"
            )

    @property
    def rounds(self) -> int:
        """Rounds through the phases."""
        return self._duration.count

    @property
    def total_steps(self) -> int:
        """Optimizer steps of a whole run."""
        return self.rounds * sum(map(self.steps_per_turn, self._phases))

    @property
    def _steps_per_repeat(self) -> int:
        return 1 if self._duration.by_steps else len(self.sizes)

    def steps_per_turn(self, phase: Phase) -> int:
        """Return the steps that a phase makes in a round."""
        return phase.repeats * self._steps_per_repeat

    def rows_left(self, state: PhaseState) -> int:
        """Return how many samples a phase still reads in the present pass."""
        steps = self.rounds * self.steps_per_turn(state.phase) - state.steps
        return sum(self.sizes[state.steps_in_pass : state.steps_in_pass + steps])

    def schedule_for(self, group: ParameterGroup) -> Schedule:
        """Return the schedule of a parameter group; one of its own has no warm-up."""
        total = self.rounds * self._steps_per_repeat
        if group.schedule is not None:
            return Schedule(group.schedule, total)
        return Schedule(self._schedule, total, self._warmup * self._steps_per_repeat)
