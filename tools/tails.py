#!/usr/bin/env python3
"""Tail probabilities that the engine's are held against: crates/laboratory/testkit/data/tails.csv.

`tools/tails.py > crates/laboratory/testkit/data/tails.csv` writes the table. The column `exact` is made here, by plain sums of 80
digits (binomial), by the series of the error function (normal) and by the exponential series, and needs nothing but Python.
The column `scipy` is the survival function of scipy.stats (1.17.1 made those in the file); without scipy it is taken over
from the file as it stands. A unit test holds `exact` to the file.
"""

import csv
import decimal
import pathlib
import sys
from decimal import Decimal

TABLE = pathlib.Path(__file__).resolve().parent.parent / "crates/laboratory/testkit/data/tails.csv"
COLUMNS = ["distribution", "trials", "probability", "above", "exact", "scipy"]

# P(X > above): (trials, probability, above). Codewords of 512 B, 2 KiB and 4 KiB; the last are a chip's own figures.
BINOMIAL = [
    (8, "0.3", 2),
    (8, "0.01", 0),
    (64, "0.5", 40),
    (4096, "0.0001", 4),
    (4096, "0.001", 10),
    (4096, "0.016406", 75),
    (4096, "0.006718", 75),
    (4096, "0.0020309", 25),
    (4096, "0.02", 75),
    (4096, "0.03", 75),
    (16384, "0.0031170", 75),
    (16384, "0.005", 110),
    (32768, "0.00148", 50),
    (32768, "0.003", 60),
    (32768, "0.007981", 300),
    (32768, "0.0001", 50),
]
# P(X > above) of the standard normal and of the exponential distribution of mean 1.
NORMAL = ["0", "0.5", "1", "1.5", "2", "3"]
EXPONENTIAL = ["0.1", "0.5", "1", "2", "4", "6"]


def binomial(trials: int, probability: str, above: int) -> Decimal:
    p = Decimal(probability)
    q = 1 - p
    term = q**trials
    below = Decimal(0)
    for count in range(above + 1):
        below += term
        term = term * (trials - count) / (count + 1) * p / q
    return 1 - below


def normal(above: str) -> Decimal:
    # phi(x) (x + x^3/3 + x^5/(3 5) + ...) is the probability between 0 and x; pi by Machin's formula.
    x = Decimal(above)
    arctan = lambda n: sum(Decimal((-1) ** k) / ((2 * k + 1) * Decimal(n) ** (2 * k + 1)) for k in range(80))
    pi = 4 * (4 * arctan(5) - arctan(239))
    term, total, factor = x, Decimal(0), 1
    for _ in range(200):
        total += term
        factor += 2
        term = term * x * x / factor
    return Decimal("0.5") - total * (-x * x / 2).exp() / (2 * pi).sqrt()


def exponential(above: str) -> Decimal:
    return (-Decimal(above)).exp()


def scipy_column() -> list[str]:
    try:
        from scipy import stats
    except ImportError:
        return [row["scipy"] for row in csv.DictReader(TABLE.open())]
    return (
        [repr(float(stats.binom.sf(above, trials, float(p)))) for trials, p, above in BINOMIAL]
        + [repr(float(stats.norm.sf(float(above)))) for above in NORMAL]
        + [repr(float(stats.expon.sf(float(above)))) for above in EXPONENTIAL]
    )


def rows() -> list[list[str]]:
    # The sums below a far tail cancel: 80 digits leave more than 50 of it.
    decimal.getcontext().prec = 80
    exact = [["binomial", str(n), p, str(above), binomial(n, p, above)] for n, p, above in BINOMIAL]
    exact += [["normal", "", "", above, normal(above)] for above in NORMAL]
    exact += [["exponential", "", "", above, exponential(above)] for above in EXPONENTIAL]
    return [row[:4] + [repr(float(row[4])), scipy] for row, scipy in zip(exact, scipy_column(), strict=True)]


def main() -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    out.writerows(rows())


if __name__ == "__main__":
    main()
