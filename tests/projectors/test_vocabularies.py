"""Projectors of texts: what they draw, and what they return."""

import pytest
import torch

from aleator.projectors.vocabularies import DocumentSimilarity, VocabularyCounts
from tests.projectors.families import generator


def counts(n_samples=50, n_features=40, seed=0):
    """Counts of n-grams, of which the last ten never occur."""
    drawn = torch.poisson(torch.full((n_samples, n_features), 0.5), generator=generator(seed))
    drawn[:, -10:] = 0
    return drawn


def test_only_n_grams_that_occur_are_drawn_and_frequent_ones_more_often():
    sample = counts()
    sample[:, 3] *= 20
    for family in (VocabularyCounts, DocumentSimilarity):
        drawn = family.draw(sample, 400, generator())
        assert drawn.column.max() < 30
    column = VocabularyCounts.draw(sample, 400, generator()).column
    assert (column == 3).sum() > 3 * (column == 4).sum()


def test_counts_are_sums_of_the_members():
    sample = counts()
    drawn = VocabularyCounts.draw(sample, 5, generator())
    expected = torch.stack([sample[:, members].sum(1) for members in drawn.column], 1)
    torch.testing.assert_close(drawn(sample), expected)


def test_documents_are_those_of_the_sample_and_similarity_is_the_cosine():
    sample = counts()
    drawn = DocumentSimilarity.draw(sample, 20, generator())
    assert drawn.column.shape[0] == 2  # sixteen documents per vocabulary
    similarity = drawn(sample)
    assert similarity.shape == (50, 20)
    rows = sample[:, drawn.column[1]]
    expected = torch.nn.functional.cosine_similarity(rows, drawn.document[1, 3][None], dim=1)
    torch.testing.assert_close(similarity[:, 19], expected)
    # every document is a text of the sample, and similar to itself
    torch.testing.assert_close(similarity.max(0).values, torch.ones(20))
    torch.testing.assert_close(drawn(3 * sample), similarity)
    assert (drawn(torch.zeros(2, 40)) == 0).all()


def test_texts_without_any_n_gram_can_be_drawn_from():
    for family in (VocabularyCounts, DocumentSimilarity):
        drawn = family.draw(torch.zeros(9, 12), 6, generator())
        assert (drawn(torch.zeros(3, 12)) == 0).all()


@pytest.mark.parametrize("name", ["column", "document"])
def test_sizes_of_a_saved_model_are_checked(name):
    state = DocumentSimilarity.draw(counts(), 20, generator()).state_dict()
    state[name] = state[name][None]
    with pytest.raises(ValueError, match="other sizes"):
        DocumentSimilarity().load_state_dict(state)
    with pytest.raises(ValueError, match="other sizes"):
        VocabularyCounts().load_state_dict({"column": torch.zeros(3)})
