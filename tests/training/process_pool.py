"""Processes that stay, and train together on request: starting them takes longer than most fits."""

import multiprocessing
import os
import socket
import traceback
import warnings
from contextlib import suppress
from datetime import timedelta

_PATIENCE = timedelta(minutes=2)  # with processes that do not come


def _serve(connection, rank):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    while (job := connection.recv()) is not None:
        port, size, function, arguments, group = job
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        try:
            if group:
                dist.init_process_group("gloo", timeout=_PATIENCE, rank=rank, world_size=size)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # as in the process that runs the tests
                answer = True, function(*arguments)
        except BaseException as error:
            answer = False, (type(error).__name__, str(error), traceback.format_exc())
        if dist.is_initialized():
            dist.destroy_process_group()
        connection.send(answer)


def _answer(end):
    try:
        return end.recv()
    except (EOFError, ConnectionResetError):
        return False, ("killed", "", "")


class ProcessPool:
    """Up to `most` processes, of which a job takes as many as it needs.

    Only those that are not daemons may start processes.
    """

    def __init__(self, most, daemon=True):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(
            ["torch.distributed", "aleator.benchmark.rank_cases", "sklearn.preprocessing", "kornia"]
        )
        self._ends = []
        self._processes = []
        for rank in range(most):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(theirs, rank), name=f"rank-{rank}", daemon=daemon
            )
            process.start()
            theirs.close()
            self._ends.append(ours)
            self._processes.append(process)

    def try_run(self, size, function, *arguments, group=True):
        """Call a function in processes of one group, and return (succeeded, result) of each."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        for end in self._ends[:size]:
            end.send((port, size, function, arguments, group))
        return [_answer(end) for end in self._ends[:size]]

    def run(self, size, function, *arguments, group=True):
        """Call a function in processes of one group, and return the results."""
        answers = self.try_run(size, function, *arguments, group=group)
        for rank, (succeeded, result) in enumerate(answers):
            assert succeeded, f"in process {rank}: {result[2]}"
        return [result for _, result in answers]

    def close(self):
        for end in self._ends:
            with suppress(BrokenPipeError):
                end.send(None)
        for process in self._processes:
            process.join(10)
