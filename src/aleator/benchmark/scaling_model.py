"""How long a step of several processes takes: a simulation.

All processes begin a step together. Each has its share of a random batch, which is the same for all
only on average, and computes; those that have fewer rows wait for the one that has most. Then they
exchange messages, as a ring does. If there are more processes than cores, they take turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

# With more rows than this, shares no longer depend on their number, which numpy limits.
_MANY_ROWS = 10**8

# A message of two values, the loss and whether to stop, travels with the gradients.
_NOTE = 8


@dataclass(frozen=True)
class Network:
    """What connects processes.

    Parameters
    ----------
    latency : float
        Seconds of the smallest message to all processes.
    bandwidth : float
        Bytes per second that a process sends, while it receives as many, in a sum.
    gather_latency : float, default=None
        Seconds until the smallest tensors are gathered; None: as a sum.
    gather_bandwidth : float, default=None
        Bytes per second if tensors are gathered; None: as in a sum.

    Examples
    --------
    >>> network = Network(latency=0.5, bandwidth=100.0)
    >>> network.sum_seconds(200, processes=2)  # each sends half, and then half of the sum
    2.5
    >>> network.gather_seconds(200, processes=3)  # each sends its own, and passes on the other's
    4.5
    """

    latency: float
    bandwidth: float
    gather_latency: float | None = None
    gather_bandwidth: float | None = None

    def sum_seconds(self, size: float, processes: int) -> float:
        """Seconds to sum `size` bytes over all processes, in a ring."""
        return self.latency + 2 * (processes - 1) / processes * size / self.bandwidth

    def gather_seconds(self, size: float, processes: int) -> float:
        """Seconds until all processes have the `size` bytes of each."""
        latency = self.latency if self.gather_latency is None else self.gather_latency
        bandwidth = self.gather_bandwidth or self.bandwidth
        return latency + (processes - 1) * size / bandwidth


@dataclass(frozen=True)
class Costs:
    """Seconds that computing takes in one process, by number of rows.

    Parameters
    ----------
    step : mapping of int to float
        A step of one process, with the loss, by rows.
    loss : mapping of int to float, default={}
        The part of it that every process computes for the whole batch: a loss that compares rows.
    sharing : mapping of int to float, default={}
        Finding the share of a batch, by rows of the whole batch.

    Examples
    --------
    >>> Costs({10: 1.0, 20: 1.5}).of_share(15, 30)
    1.25
    >>> Costs({10: 1.0, 20: 1.5}, loss={10: 0.2, 30: 0.6}).of_share(10, 30)
    1.4
    """

    step: Mapping[int, float]
    loss: Mapping[int, float] = field(default_factory=dict)
    sharing: Mapping[int, float] = field(default_factory=dict)

    def of_share(self, rows: float, batch: float) -> float:
        """Seconds of a process that has `rows` of the rows of a batch."""
        loss = interpolate(self.loss, batch) - interpolate(self.loss, rows)
        return interpolate(self.step, rows) + loss + interpolate(self.sharing, batch)


def interpolate(known: Mapping[int, float], rows: float) -> float:
    """Return a value between known ones; beyond them, the nearest line goes on.

    Examples
    --------
    >>> interpolate({1: 1.0, 2: 3.0}, 4), interpolate({10: 5.0}, 20), interpolate({}, 3)
    (7.0, 10.0, 0.0)
    """
    if not known:
        return 0.0
    x = sorted(known)
    if len(x) == 1:  # in proportion
        return known[x[0]] * rows / x[0]
    i = int(np.clip(np.searchsorted(x, rows), 1, len(x) - 1))
    low, high = x[i - 1], x[i]
    return known[low] + (known[high] - known[low]) * (rows - low) / (high - low)


def makespan(seconds: Sequence[float], cores: int) -> float:
    """Return when the last of several tasks ends, of which each keeps the core that it begins on.

    Examples
    --------
    >>> makespan([3.0, 2.0, 2.0], cores=2)
    4.0
    """
    busy = [0.0] * cores
    for task in sorted(seconds, reverse=True):
        busy[busy.index(min(busy))] += task
    return max(busy)


@dataclass(frozen=True)
class Traffic:
    """What a step sends.

    Parameters
    ----------
    weights : int
        Trained weights, whose gradients are summed.
    gathered : int, default=0
        Values per row that all processes get of every row, for a loss that compares rows.
    itemsize : int, default=4
        Bytes of a value.

    Examples
    --------
    >>> Traffic(weights=100, gathered=6).gathered_bytes(largest_share=10)
    240
    """

    weights: int
    gathered: int = 0
    itemsize: int = 4

    @property
    def summed_bytes(self) -> int:
        """Size of the gradients, and of the loss that travels with them."""
        return self.itemsize * self.weights + _NOTE * self.itemsize // 4

    def gathered_bytes(self, largest_share: int) -> int:
        """Size of what a process contributes; shares are filled up to the largest."""
        return self.itemsize * self.gathered * largest_share


def simulate(
    costs: Costs,
    traffic: Traffic,
    network: Network,
    *,
    processes: int,
    batch: int,
    rows: int,
    steps: int = 200,
    cores: int | None = None,
    seed: int = 0,
) -> float:
    """Simulate steps, and return the mean of their seconds.

    Parameters
    ----------
    costs : Costs
        What computing takes.
    traffic : Traffic
        What is sent.
    network : Network
        What sending takes.
    processes : int
        Number of processes.
    batch : int
        Rows of a step, of all processes.
    rows : int
        Rows of the data.
    steps : int, default=200
        Number of steps.
    cores : int, default=None
        Processors that all processes share; None: each has its own.
    seed : int, default=0
        Seed of the shares.

    Returns
    -------
    float

    Examples
    --------
    >>> costs, network = Costs({10: 1.0}), Network(0.1, 1e3)
    >>> simulate(costs, Traffic(25), network, processes=1, batch=10, rows=100)
    1.0
    >>> two = simulate(costs, Traffic(25), network, processes=2, batch=20, rows=100)
    >>> 1.1 + 0.1 < two < 1.5  # the larger share, and the message
    True
    """
    if processes == 1:
        return interpolate(costs.step, batch)
    generator = np.random.default_rng(seed)
    rows = min(rows, _MANY_ROWS)
    owned = [len(range(rank, rows, processes)) for rank in range(processes)]
    shares = generator.multivariate_hypergeometric(owned, batch, size=steps, method="marginals")
    seconds = 0.0
    for counts in shares.tolist():
        largest = max(counts)
        if cores is None or cores >= processes:
            seconds += costs.of_share(largest, batch)
        else:
            seconds += makespan([costs.of_share(count, batch) for count in counts], cores)
        seconds += network.sum_seconds(traffic.summed_bytes, processes)
        if traffic.gathered:
            seconds += network.gather_seconds(traffic.gathered_bytes(largest), processes)
    return seconds / steps
