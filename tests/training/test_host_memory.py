"""Memory that is free on the host, in trees of files like those of the Linux kernel."""

import pytest
import torch

from aleator.training import devices, host_memory
from aleator.training.host_memory import free_host_memory

GIB = 1 << 30
NO_LIMIT_V1 = "9223372036854771712"  # the largest number of whole pages


def free_in(folder, groups, files, available=64):
    """Write a machine with so many GiB free, and return how many GiB a process on it can take.

    `groups` are the lines of /proc/self/cgroup; `files` are those of /sys/fs/cgroup.
    """
    tree = {
        "proc/self/cgroup": groups,
        "proc/meminfo": f"MemTotal: 99999999 kB\nMemAvailable:  {available << 20} kB\nCached: 1 kB",
        **{f"cgroup/{name}": text for name, text in files.items()},
    }
    for name, text in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return free_host_memory(folder / "proc", folder / "cgroup") / GIB


def group_v2(name, limit, used, inactive=0, high="max"):
    return {
        f"{name}memory.max": limit if limit == "max" else limit * GIB,
        f"{name}memory.high": high if high == "max" else high * GIB,
        f"{name}memory.current": used * GIB,
        f"{name}memory.stat": f"anon 7\nfile 9\ninactive_anon 5\ninactive_file {inactive * GIB}\n"
        f"active_file {GIB}",
    }


def group_v1(name, limit, used, inactive=0):
    return {
        f"memory/{name}memory.limit_in_bytes": limit if limit == NO_LIMIT_V1 else limit * GIB,
        f"memory/{name}memory.usage_in_bytes": used * GIB,
        # The entries of a group without those that it contains come first.
        f"memory/{name}memory.stat": f"inactive_file 0\ntotal_inactive_file {inactive * GIB}",
    }


def test_a_machine_without_limits(tmp_path):
    assert free_in(tmp_path, "0::/user.slice", group_v2("user.slice/", "max", 5)) == 64


def test_a_container_that_sees_its_own_group_as_the_root(tmp_path):
    assert free_in(tmp_path, "0::/", group_v2("", 16, 6)) == 10


def test_file_cache_that_is_not_in_use_can_be_taken(tmp_path):
    assert free_in(tmp_path, "0::/", group_v2("", 16, 15, inactive=4)) == 5


def test_the_machine_may_have_less_than_the_container_allows(tmp_path):
    assert free_in(tmp_path, "0::/", group_v2("", 16, 6), available=3) == 3


@pytest.mark.parametrize(
    ("job", "step", "task", "expected"), [(12, "max", "max", 5), (12, 8, 7, 1), (32, 8, 6, 0)]
)
def test_the_groups_that_contain_a_group_have_limits_too(tmp_path, job, step, task, expected):
    """As SLURM makes them; no process may take more than the tightest allows."""
    files = {
        **group_v2("system.slice/job_7/", job, 7),
        **group_v2("system.slice/job_7/step_0/", step, 6),
        **group_v2("system.slice/job_7/step_0/task_0/", task, 6),
        "memory.stat": "anon 1",  # the group of the whole machine has no limit
    }
    assert free_in(tmp_path, "0::/system.slice/job_7/step_0/task_0", files) == expected


def test_other_groups_do_not_matter(tmp_path):
    files = {**group_v2("job_7/", 16, 6), **group_v2("job_8/", 2, 2), **group_v2("job_7/b/", 1, 1)}
    assert free_in(tmp_path, "0::/job_7", files) == 10


def test_a_group_is_slowed_down_before_its_limit(tmp_path):
    assert free_in(tmp_path, "0::/", group_v2("", 16, 6, high=9)) == 3


def test_version_1(tmp_path):
    groups = "5:cpu,cpuacct:/x\n4:memory,hugetlb:/docker/abc\n1:name=systemd:/y\n0::/"
    files = {**group_v1("docker/abc/", 20, 15, inactive=3), **group_v1("", NO_LIMIT_V1, 60)}
    assert free_in(tmp_path, groups, files) == 8


def test_version_1_in_a_container_that_sees_the_path_on_its_host(tmp_path):
    assert free_in(tmp_path, "4:memory:/docker/abc", group_v1("", 20, 15)) == 5


def test_version_1_has_a_large_number_if_there_is_no_limit(tmp_path):
    assert free_in(tmp_path, "4:memory:/", group_v1("", NO_LIMIT_V1, 15)) == 64


def test_a_group_outside_of_what_is_shown(tmp_path):
    """The names of its folders lead out of the tree, to files that are not its own."""
    outside = {f"../other/{name}": text for name, text in group_v2("", 1, 1).items()}
    files = {**group_v2("", 16, 6), **outside}
    assert free_in(tmp_path, "0::/../other", files) == 10


def test_more_than_the_limit_may_be_in_use(tmp_path):
    assert free_in(tmp_path, "0::/", group_v2("", 6, 7)) == 0


def test_more_may_be_cache_than_is_in_use(tmp_path):
    """The files are not read at the same moment."""
    assert free_in(tmp_path, "0::/", group_v2("", 16, 3, inactive=4)) == 16


@pytest.mark.parametrize("damaged", ["", "-1", "no number"])
def test_a_limit_that_is_no_number_is_none(tmp_path, damaged):
    files = group_v2("", "max", 6) | {"memory.max": damaged}
    assert free_in(tmp_path, "0::/", files) == 64


def test_usage_that_cannot_be_read_leaves_the_limit(tmp_path):
    assert free_in(tmp_path, "0::/", {"memory.max": 16 * GIB}) == 16


def test_a_system_that_does_not_say_how_much_is_free(tmp_path):
    assert free_host_memory(tmp_path / "proc", tmp_path / "cgroup") > 2 * 4096
    free_in(tmp_path, "0::/", {"memory.max": 2 * 4096, "memory.current": 4096})
    (tmp_path / "proc" / "meminfo").unlink()
    assert free_host_memory(tmp_path / "proc", tmp_path / "cgroup") == 4096


def test_plans_ask_for_it(tmp_path, monkeypatch):
    """The tree that is written here takes the place of that of the kernel."""
    free_in(tmp_path, "0::/", group_v2("", 16, 6))
    read = host_memory.free_host_memory
    monkeypatch.setattr(
        devices, "free_host_memory", lambda: read(tmp_path / "proc", tmp_path / "cgroup")
    )
    assert devices.free_memory(torch.device("cpu")) == 10 * GIB
