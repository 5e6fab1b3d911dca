"""Projectors of texts: random vocabularies of n-grams, and random documents as anchors.

What is drawn from are the features of an adapter of texts: weights of n-grams, and counts of
bytes. A vocabulary is a few of those that occur in the data. They are drawn in proportion to their
weight in all texts, so that what never occurs is never drawn.
"""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

from aleator.projectors.drawn import DrawnModule, random_rows

# Members of a vocabulary whose weights are summed.
_SUMMED = 8
# Members of a vocabulary in which texts are compared with documents, and documents per vocabulary.
_COMPARED, _DOCUMENTS = 256, 16
_TINY = 1e-12


class VocabularyCounts(DrawnModule):
    """How much of a text is of a small random vocabulary: one feature per vocabulary.

    Parameters
    ----------
    column : Tensor of shape (k, 8), default=None
        Members of every vocabulary.

    Examples
    --------
    >>> counts = VocabularyCounts(torch.tensor([[0, 2]]))
    >>> counts(torch.tensor([[1.0, 5.0, 2.0]])).tolist()
    [[3.0]]
    """

    column: Tensor

    def __init__(self, column: Tensor | None = None) -> None:
        super().__init__()
        self.store(column=column)

    def prepare(self) -> None:
        """Check the members of a saved model."""
        _check(self.column, self.column.ndim == 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sums.

        Parameters
        ----------
        x : Tensor of shape (m, features)
            Texts.

        Returns
        -------
        Tensor of shape (m, k)
        """
        return x[:, self.column].sum(2)

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw vocabularies.

        Parameters
        ----------
        sample : Tensor of shape (n, features)
            Texts of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        VocabularyCounts
        """
        weight = column_weights(sample)
        drawn = torch.multinomial(weight, output_dim * _SUMMED, True, generator=generator)
        return cls(drawn.view(output_dim, _SUMMED).to(sample.device))


class DocumentSimilarity(DrawnModule):
    """Cosine similarity to documents of the data, as far as a random vocabulary goes.

    Several documents share a vocabulary.

    Parameters
    ----------
    column : Tensor of shape (vocabularies, members), default=None
        Members of every vocabulary.
    document : Tensor of shape (vocabularies, documents, members), default=None
        Documents of every vocabulary, of length one.
    output_dim : int, default=0
        Number of features; surplus features are left out.

    Examples
    --------
    >>> anchors = DocumentSimilarity(torch.tensor([[0, 1]]), torch.tensor([[[0.6, 0.8]]]), 1)
    >>> anchors(torch.tensor([[3.0, 4.0, 9.0], [0.0, 0.0, 9.0]])).tolist()
    [[1.0], [0.0]]
    """

    column: Tensor
    document: Tensor
    output_dim: Tensor

    def __init__(
        self, column: Tensor | None = None, document: Tensor | None = None, output_dim: int = 0
    ) -> None:
        super().__init__()
        self.store(column=column, document=document, output_dim=output_dim)
        if column is not None:
            self.prepare()

    def prepare(self) -> None:
        """Read the number of features, and check the sizes of a saved model."""
        count, members = self.column.shape if self.column.ndim == 2 else (-1, -1)
        fits = self.document.ndim == 3 and self.document.shape[::2] == (count, members)
        _check(self.column, fits and self.output_dim.ndim == 0)
        self._width = int(self.output_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the similarities.

        Parameters
        ----------
        x : Tensor of shape (m, features)
            Texts.

        Returns
        -------
        Tensor of shape (m, output_dim)
        """
        within = F.normalize(x[:, self.column], dim=2, eps=_TINY)
        similarity = torch.einsum("mvk,vdk->mvd", within, self.document)
        return similarity.flatten(1)[:, : self._width]

    @classmethod
    def draw(cls, sample: Tensor, output_dim: int, generator: torch.Generator) -> Self:
        """Draw vocabularies, and documents for each.

        Parameters
        ----------
        sample : Tensor of shape (n, features)
            Texts of the training data.
        output_dim : int
            Number of features.
        generator : torch.Generator
            Source of randomness.

        Returns
        -------
        DocumentSimilarity
        """
        n_vocabularies = -(-output_dim // _DOCUMENTS)
        weight = column_weights(sample)
        members = min(_COMPARED, int((weight > 0).sum()))
        drawn = torch.multinomial(weight.expand(n_vocabularies, -1), members, generator=generator)
        column = drawn.to(sample.device)
        documents = random_rows(sample, n_vocabularies * _DOCUMENTS, generator)
        documents = documents.view(n_vocabularies, _DOCUMENTS, -1)
        chosen = documents.gather(2, column[:, None].expand(-1, _DOCUMENTS, -1))
        return cls(column, F.normalize(chosen, dim=2, eps=_TINY), output_dim).to(sample.device)


def column_weights(sample: Tensor) -> Tensor:
    """Return the weight of every feature in all texts; uniform if there is none.

    Parameters
    ----------
    sample : Tensor of shape (n, features)
        Texts of the training data.

    Returns
    -------
    Tensor of shape (features,)
        Numbers on the CPU that are not negative.

    Examples
    --------
    >>> column_weights(torch.tensor([[1.0, 0.0], [-2.0, 0.0]])).tolist()
    [3.0, 0.0]
    """
    weight = sample.abs().sum(0).cpu()
    return weight if bool((weight > 0).any()) else torch.ones_like(weight)


def _check(column: Tensor, has_right_sizes: bool) -> None:
    if not has_right_sizes or column.is_floating_point():
        raise ValueError("the vocabularies have other sizes than their documents, or no members")
