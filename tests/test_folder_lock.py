"""Locks on folders."""

import multiprocessing

import pytest

from aleator.folder_lock import lock_folder

pytest.importorskip("fcntl", reason="nothing is locked on this system")


def test_a_folder_is_free_afterwards_even_if_a_process_was_forked_meanwhile(tmp_path):
    fork = multiprocessing.get_context("fork")
    ends = fork.Event()
    child = fork.Process(target=ends.wait)
    try:
        with lock_folder(tmp_path):
            child.start()
            with pytest.raises(BlockingIOError), lock_folder(tmp_path):
                pass
        with lock_folder(tmp_path):
            assert child.is_alive()
    finally:
        ends.set()
        child.join()
