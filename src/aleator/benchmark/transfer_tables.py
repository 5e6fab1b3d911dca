"""Tables of transfer: one per data set and protocol, with a column per pair of domains."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from aleator.benchmark import paper
from aleator.benchmark.datasets.catalog import DOMAINS
from aleator.benchmark.method_names import CLASSIFIERS, title_of
from aleator.benchmark.protocols import Transfer
from aleator.benchmark.result_lines import Line, in_table_order, remarks, score
from aleator.benchmark.result_table import Table

TITLES = {
    "fault": "Fault Diagnosis",
    "cwru-load": "CWRU bearings by load",
    "cwru-size": "CWRU bearings by size of the fault",
}
_AVERAGE = "average"


def tables(lines: Sequence[Line]) -> list[tuple[str, Table]]:
    """Make the tables of transfer between domains.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of the study.

    Returns
    -------
    tables : list of (str, Table)
        Headings and tables. Classifiers, which have no probe, are rows of all tables whose probe is
        fitted on the source domain.
    """
    made = []
    for group, part in by_group(lines).items():
        classifiers = [line for line in part if line["method"] in CLASSIFIERS]
        probed = [line for line in part if line["method"] not in CLASSIFIERS]
        for target_labels in (False, True):
            for standardized in (False, True):
                kind = (target_labels, standardized)
                chosen = [line for line in probed if _kind(line) == kind]
                if not target_labels and (chosen or not standardized):
                    chosen = in_table_order([*classifiers, *chosen])
                if chosen:
                    made.append((_heading(group, *kind), _make_table(group, chosen, kind)))
    return made


def by_group(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Group result lines by the data set that their domains belong to.

    Parameters
    ----------
    lines : sequence of dict
        Result lines of transfer.

    Returns
    -------
    groups : dict of str to list of dict
        Lines in the order of tables, by name of the data set.

    Examples
    --------
    >>> list(by_group([{"dataset": "fault-a", "method": "lfr"}]))
    ['fault']
    """
    ordered = in_table_order(lines)
    groups = {
        group: [line for line in ordered if line["dataset"] in domains]
        for group, domains in DOMAINS.items()
    }
    return {group: part for group, part in groups.items() if part}


def domain_names(group: str) -> list[str]:
    """List the names of domains within their data set, in order.

    Parameters
    ----------
    group : str
        Name of a data set with domains.

    Returns
    -------
    names : list of str
        For example letters or numbers.

    Examples
    --------
    >>> domain_names("cwru-size")
    ['7', '14', '21']
    """
    return [_short(domain) for domain in DOMAINS[group]]


def _short(domain: str) -> str:
    return domain.rpartition("-")[2].upper()


def pair_of(line: Line) -> tuple[str, str]:
    """Return the names of the source and the target domain within their data set.

    Parameters
    ----------
    line : dict
        A result line of transfer.

    Returns
    -------
    source, target : str
        For example a letter or a number.

    Examples
    --------
    >>> pair_of({"dataset": "cwru-load-0", "protocol": "transfer to cwru-load-3, standardised"})
    ('0', '3')
    """
    transfer = Transfer.parse(line["protocol"])
    if transfer is None:
        raise ValueError(f"{line['protocol']!r} is not a protocol of transfer")
    return _short(line["dataset"]), _short(transfer.target)


def _kind(line: Line) -> tuple[bool, bool] | None:
    transfer = Transfer.parse(line["protocol"])
    return (transfer.target_labels, transfer.standardized) if transfer else None


def _heading(group: str, target_labels: bool, standardized: bool) -> str:
    labels = "target" if target_labels else "source"
    probe = "standardized" if standardized else "paper's"
    return f"{TITLES[group]}, labels of the {labels} domain, {probe} probe"


def _make_table(group: str, lines: Sequence[Line], kind: tuple[bool, bool]) -> Table:
    domains = domain_names(group)
    pairs = [(source, target) for source in domains for target in domains if source != target]
    order = (_AVERAGE, *map(_column, pairs))
    table = Table("method", excluded=tuple(map(title_of, CLASSIFIERS)), order=order)
    by_seed: dict[tuple[str, int], list[float]] = {}
    for line in lines:
        table.add(title_of(line["method"]), _column(pair_of(line)), score(line))
        by_seed.setdefault((line["method"], line["seed"]), []).append(score(line))
    for (method, _), scores in by_seed.items():
        if len(scores) == len(pairs):
            table.add(title_of(method), _AVERAGE, fmean(scores))
    # The paper's probe is fitted on the source domain. Its results say nothing on synthetic data.
    if group == "fault" and kind == (False, False) and not any(line["small"] for line in lines):
        _add_results_of_the_paper(table, {line["method"] for line in lines})
    table.remarks += remarks(lines)
    return table


def _add_results_of_the_paper(table: Table, methods: set[str]) -> None:
    for method in methods & set(paper.TRANSFER):
        known = dict(zip(paper.PAIRS, paper.TRANSFER[method], strict=True))
        row = title_of(method)
        columns = {_column((p[0].upper(), p[1].upper())): value for p, value in known.items()}
        columns[_AVERAGE] = fmean(known.values())
        for column, value in columns.items():
            if (row, column) in table.values:
                table.known[row, column] = value, None


def _column(pair: tuple[str, str]) -> str:
    return f"{pair[0]} → {pair[1]}"
