"""Label-free diagnostics of embeddings with known spectra."""

import numpy as np
import pytest
from scipy.stats import entropy

from aleator.evaluation import alpha_req, diagnose, lidar, rank_me


def test_rank_me_against_numpy(random):
    rows = random.normal(size=(60, 8)) * np.arange(1, 9) + 1
    singular_values = np.linalg.svd(rows, compute_uv=False)
    assert rank_me(rows, "cpu") == pytest.approx(np.exp(entropy(singular_values)), rel=1e-6)


def test_no_smoothing_constant_is_added(random):
    """With one, every dimension without variance would raise the effective rank."""
    few = np.linalg.qr(random.normal(size=(600, 3)))[0]
    rows = np.hstack([few, np.zeros((600, 500))])
    assert rank_me(rows, "cpu") == pytest.approx(3, abs=1e-5)
    views = np.repeat(rows[:, None], 2, axis=1)
    views[:, 0, :3] += 1e-3
    views[:, 1, :3] -= 1e-3
    assert lidar(views, "cpu") == pytest.approx(lidar(views[..., :3], "cpu"), abs=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_alpha_req_finds_a_power_law(random, alpha):
    basis = np.linalg.qr(random.normal(size=(400, 40)))[0]
    basis -= basis.mean(0)
    basis = np.linalg.qr(basis)[0]
    rows = basis * np.arange(1, 41) ** (-alpha / 2)
    assert alpha_req(rows, "cpu") == pytest.approx(alpha, rel=0.02)
    assert np.isnan(alpha_req(rows[:, :2], "cpu"))


def test_lidar_counts_the_directions_that_distinguish_samples(random):
    samples = np.zeros((800, 1, 6))
    samples[..., :2] = random.normal(size=(800, 1, 2))
    noise = 0.05 * random.normal(size=(800, 8, 6))
    assert lidar(samples + noise, "cpu") == pytest.approx(2, abs=0.1)
    # Noise along a direction hides the differences between samples along it.
    noise[..., 0] = 5 * random.normal(size=(800, 8))
    assert lidar(samples + noise, "cpu") == pytest.approx(1, abs=0.2)


def test_verdict(random):
    rows = random.normal(size=(300, 10))
    assert not diagnose(rows, device="cpu").collapsed
    point = diagnose(5 + 1e-6 * rows, device="cpu")
    assert point.collapsed
    assert "same point" in point.verdict
    line = diagnose(rows[:, :1] * np.ones(10) + 3, device="cpu")
    assert line.collapsed
    assert "one line" in line.verdict
    narrow = diagnose(rows[:, :2] @ random.normal(size=(2, 100)), device="cpu")
    assert not narrow.collapsed
    assert narrow.verdict.startswith("narrow: about 2 of 100")
    assert "RankMe" in str(narrow)
    with_views = diagnose(rows, views=random.normal(size=(20, 4, 10)), device="cpu")
    assert "LiDAR" in str(with_views)


def test_printed_diagnosis_counts_constant_dimensions(random):
    rows = np.hstack([random.normal(size=(300, 4)), np.full((300, 2), 0.5)])
    diagnosis = diagnose(rows, device="cpu")
    assert "300 samples, 6 dimensions" in str(diagnosis)
    assert "2 dimensions nearly constant" in str(diagnosis)


def test_diagnose_agrees_with_the_single_functions(random):
    rows = random.normal(size=(60, 8)) * np.arange(1, 9) + 1
    whole = diagnose(rows, device="cpu")
    assert whole.rank_me == rank_me(rows, "cpu")
    assert (whole.n_samples, whole.embedding_dim) == (60, 8)
    assert whole.alpha_req == alpha_req(rows, "cpu")
    np.testing.assert_allclose(whole.std, rows.std(0), rtol=1e-5)
    wide = diagnose(rows.T, device="cpu")
    assert wide.rank_me == pytest.approx(whole.rank_me, rel=1e-4)


def test_invalid_embeddings_are_rejected():
    with pytest.raises(
        ValueError, match=r"embedding must be .* \(n_samples, n_features\), got .*3"
    ):
        rank_me(np.zeros(3))
    with pytest.raises(
        ValueError, match=r"views must be .* \(n_samples, n_views, n_features\), got"
    ):
        lidar(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="embedding contains NaN or infinity"):
        diagnose(np.full((3, 3), np.nan))
