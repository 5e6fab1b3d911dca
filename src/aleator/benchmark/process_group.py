"""Functions that run in new processes of one group."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Any

import torch


def in_group(size: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call a function in new processes that are one group, and return their results.

    Parameters
    ----------
    size : int
        Number of processes.
    function : callable
        A function of a module.
    *arguments : object
        Its arguments.

    Returns
    -------
    list
        One result per process.
    """
    import torch.multiprocessing as processes

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Forks of a process that has imported what takes time to import, but has no threads.
    context = processes.get_context("forkserver")
    context.set_forkserver_preload(["torch.distributed", function.__module__])
    queue = context.SimpleQueue()
    started = [
        context.Process(target=_in_process, args=(rank, size, port, queue, function, arguments))
        for rank in range(size)
    ]
    for process in started:
        process.start()
    answers: dict[int, Any] = {}
    while len(answers) < size:
        gone = [rank for rank in range(size) if not started[rank].is_alive()]
        if not queue.empty():
            rank, answer = queue.get()
            answers[rank] = answer
        elif set(gone) - set(answers):
            raise RuntimeError(f"processes {gone} have ended without an answer")
        else:
            time.sleep(0.01)
    for process in started:
        process.join()
    for rank in range(size):
        succeeded, answer = answers[rank]
        if not succeeded:
            raise RuntimeError(f"process {rank}: {answer}")
    return [answers[rank][1] for rank in range(size)]


def _in_process(
    rank: int, size: int, port: int, queue: Any, function: Callable[..., Any], arguments: Any
) -> None:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    if size > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    try:
        answer = True, function(*arguments)
    except Exception as error:
        answer = False, f"{type(error).__name__}: {error}"
    queue.put((rank, answer))
    if size > 1:
        torch.distributed.destroy_process_group()
