import pytest

from tests.training.process_pool import ProcessPool


@pytest.fixture(scope="session")
def pool():
    """Three processes, for all tests that need several."""
    pool = ProcessPool(3)
    yield pool
    pool.close()
