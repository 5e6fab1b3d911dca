"""Sources that are read in pieces: what is read how often, by whom, and what is kept."""

import threading

import numpy as np
import pytest

from aleator.inputs import PiecewiseSource, Schema

LENGTHS = [30, 0, 50, 20, 40, 1, 59]


class Pieces(PiecewiseSource):
    """Pieces of an array; remembers which were read, in which thread, and which are still used."""

    def __init__(self, array, buffer_size=0):
        self.array = array
        self.reads = []
        self.threads = set()
        self.alive = []
        super().__init__(Schema(array.shape[1:], array.dtype), LENGTHS, buffer_size)

    def read_piece(self, piece):
        self.reads.append(piece)
        self.threads.add(threading.get_ident())
        values = self.array[self.starts[piece] : self.starts[piece + 1]].copy()
        values = values.view(Watched)
        values.owner, values.piece = self, piece
        self.alive.append(piece)
        return values

    def fingerprint(self):
        return ""


class Watched(np.ndarray):
    owner = piece = None

    def __del__(self):
        if self.owner is not None:
            self.owner.alive.remove(self.piece)


@pytest.fixture
def array(random):
    return random.normal(size=(200, 3)).astype(np.float32)


def of_pieces(array, count):
    """A source whose buffer holds so many pieces of the largest size."""
    return Pieces(array, count * max(LENGTHS) * 12)


@pytest.mark.parametrize("buffer", [0, 10**6])
def test_a_piecewise_source_has_the_abilities_of_a_source(array, buffer):
    source = Pieces(array, buffer)
    assert len(source) == 200
    index = np.array([199, 0, 29, 30, 81, 0])
    np.testing.assert_array_equal(source.gather(index), array[index])
    for rows in (None, 1, 7, 50, 64, 500):
        for start, stop in ((0, None), (0, 200), (29, 31), (30, 80), (101, 199), (5, 5)):
            chunks = [np.asarray(chunk) for chunk in source.chunks(rows, start, stop)]
            assert all(len(chunk) == (rows or 200) for chunk in chunks[:-1])
            together = np.concatenate([array[:0], *chunks])
            np.testing.assert_array_equal(together, array[start:stop])


def test_all_samples_in_order_are_read_once_in_the_background(array):
    source = Pieces(array)
    for _ in source.chunks(16):
        assert len(source.alive) <= 3, "the one that is used, the next, and a piece of the last"
    assert [piece for piece in source.reads if LENGTHS[piece]] == [0, 2, 3, 4, 5, 6]
    assert threading.get_ident() not in source.threads


def test_samples_anywhere_need_one_piece_at_a_time(array):
    source = Pieces(array)
    rows = np.arange(0, 200, 3)
    for part in np.array_split(rows, 10):  # sorted, a few at a time
        np.testing.assert_array_equal(source.gather(part), array[part])
        assert len(source.alive) <= 1
    assert source.reads == [0, 2, 3, 4, 6]


def test_data_that_fit_into_the_buffer_are_read_once(array):
    source = Pieces(array, buffer_size=array.nbytes)
    order = np.random.default_rng(0).permutation(200)
    reader = source.in_order(order)
    for _ in range(2):
        np.testing.assert_array_equal(reader.gather(order), array[order])
        np.testing.assert_array_equal(np.concatenate(list(source.chunks(9))), array)
    assert sorted(source.reads) == list(range(7))
    assert not Pieces(array, array.nbytes - 1).fits_buffer


def test_a_pass_reads_every_piece_once_and_drops_it_when_it_is_used_up(array):
    source = of_pieces(array, 2)
    # Two pieces at a time are mixed.
    order = np.concatenate([np.random.default_rng(0).permutation(part) for part in
                            (np.r_[160:200, 0:30], np.r_[30:100], np.r_[100:160])])  # fmt: skip
    reader = source.in_order(order)
    most = 0
    for batch in np.array_split(order, 25):
        np.testing.assert_array_equal(reader.gather(batch), array[batch])
        most = max(most, len(source.alive))
    assert sorted(source.reads) == [0, 2, 3, 4, 5, 6]
    assert threading.get_ident() not in source.threads
    assert most <= 4, "two in use, one read ahead, and the single row of piece 5"
    del reader
    assert not source.alive


def test_a_pass_may_begin_in_the_middle(array):
    source = of_pieces(array, 1)
    order = np.arange(200)[::-1]
    reader = source.in_order(order[90:])
    np.testing.assert_array_equal(reader.gather(order[90:120]), array[order[90:120]])
    assert set(source.reads) <= {4, 3, 2}
    np.testing.assert_array_equal(reader.gather(order[120:]), array[order[120:]])
    assert sorted(source.reads) == [0, 2, 3, 4]


def test_a_few_samples_are_read_at_once(array):
    source = of_pieces(array, 1)
    order = np.random.default_rng(0).permutation(200)[:40]
    reader = source.in_order(order)
    for batch in (order[:15], order[15:]):
        np.testing.assert_array_equal(reader.gather(batch), array[batch])
    assert len(source.reads) == len(set(source.reads))


def test_what_goes_wrong_in_the_background_is_raised(array):
    class Broken(Pieces):
        def read_piece(self, piece):
            if piece == 3:
                raise OSError("piece 3 is gone")
            return super().read_piece(piece)

    with pytest.raises(OSError, match="piece 3 is gone"):
        list(Broken(array).chunks(10))
    reader = Broken(array).in_order(np.arange(200))
    with pytest.raises(OSError, match="piece 3 is gone"):
        reader.gather(np.arange(200))


def test_the_window_is_what_fits_into_the_buffer(array):
    assert of_pieces(array, 3).window == 3
    assert Pieces(array, 1).window == 1
