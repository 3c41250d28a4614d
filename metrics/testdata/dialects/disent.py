"""Reference values of the metrics of disent, written anew from its documentation and from the descriptions of the metrics.

Reads the codes of ../mig/<case> and writes disent.json. Draws of factor_vae are means over repeats.
"""
import json
import pathlib

import numpy as np
from scipy.linalg import sqrtm

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(20)


def bins(column, n=20):
    """1 + the last of n equal cells from the least to the largest value whose left edge is not above the value."""
    low, high = column.min(), column.max()
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.array([j * ((high - low) / n) + low for j in range(n)])
    return np.searchsorted(edges, column, side="right")


def information(a, b):
    """Mutual information in nats of two lists of labels, from a joint table."""
    _, a = np.unique(a, return_inverse=True)
    _, b = np.unique(b, return_inverse=True)
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1 / len(a))
    outer = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    at = table > 0
    return float((table[at] * np.log(table[at] / outer[at])).sum())


def mig(z, y):
    binned = [bins(c) for c in z.T]
    gaps = []
    for f in y.T:
        found = sorted(information(c, f) for c in binned)
        gaps.append((found[-1] - found[-2]) / information(f, f))
    return float(np.mean(gaps))


def factor_vae(z, y, batch=64, train=10000, test=5000, threshold=0.0):
    """Columns of a standard deviation of at least the threshold take part: all, as the threshold of disent is 0."""
    spread = z.var(axis=0, ddof=1)
    active = np.flatnonzero(np.sqrt(spread) >= threshold)
    rows = [[np.flatnonzero(f == v) for v in range(f.max() + 1)] for f in y.T]

    def votes(n):
        count = np.zeros((y.shape[1], len(active)))
        for _ in range(n):
            k = rng.integers(y.shape[1])
            level = y[rng.integers(len(y)), k]
            some = z[rng.choice(rows[k][level], batch)][:, active]
            count[k, np.argmin(some.var(axis=0, ddof=1) / spread[active])] += 1
        return count

    stands = votes(train).argmax(axis=0)
    tested = votes(test)
    return float(sum(tested[stands[c], c] for c in range(len(active))) / test)


def without_factors(z):
    cov = np.cov(z.T)
    binned = [bins(c) for c in z.T]
    d = len(binned)
    pairs = [information(binned[i], binned[j]) for i in range(d) for j in range(d) if i != j]
    root = sqrtm(np.diag(np.diag(cov)) @ cov)
    return {
        "mutual-information": float(np.mean(pairs)),
        "total-correlation": float(0.5 * (np.log(np.diag(cov)).sum() - np.linalg.slogdet(cov)[1])),
        "wasserstein-correlation": float(np.real(2 * np.trace(cov) - 2 * np.trace(root))),
    }


out = {}
for case in ["noisy", "linear_mix", "random"]:
    z = np.load(here / "../mig" / case / "codes.npy")
    y = np.load(here / "../mig" / case / "factors.npy").astype(int)
    values = {"mig": mig(z, y), **without_factors(z)}
    if np.linalg.matrix_rank(np.cov(z.T)) < z.shape[1]:
        del values["total-correlation"]  # infinite
    # the first column shrunk below the 0.05 of disentanglement_lib, which would prune it
    small = z.copy()
    small[:, 0] *= 0.02 / small[:, 0].std(ddof=1)
    draws = [factor_vae(small, y, train=4000, test=4000) for _ in range(6)]
    pruned = [factor_vae(small, y, train=4000, test=4000, threshold=0.05) for _ in range(2)]
    values["factor-vae"] = {"value": float(np.mean(draws)), "tolerance": float(max(4 * np.std(draws, ddof=1), 0.01)),
                            "pruned": float(np.mean(pruned))}
    out[case] = values
(here / "disent.json").write_text(json.dumps(out, indent=1) + "\n")
