"""Modularity of projected sub-codes (Zhang and Sugiyama 2024, appendix F.3), computed with NumPy and SciPy alone.

Run in this folder: writes codes.npy, factors.npy and expected.json. Codes have 8 columns, factors 4: ordinal, circular,
categorical, and one whose level is unknown (-1) in some rows.
"""
import json

import numpy as np
from scipy.optimize import linear_sum_assignment, minimize

rng = np.random.default_rng(11)
sizes = [5, 6, 3, 4]
n = 400
y = np.stack([rng.integers(0, s, n) for s in sizes], 1)
scaled = np.stack([y[:, 0] / 4, y[:, 1] / 6, y[:, 2] / 2, y[:, 3] / 3], 1)  # a circular level is its fraction of a turn
angle = 2 * np.pi * scaled[:, 1]
signals = np.stack([scaled[:, 3], scaled[:, 3] ** 2, np.cos(angle), np.sin(angle), np.exp(scaled[:, 0]), scaled[:, 0] * scaled[:, 2],
                    (y[:, 2] == 1) * 1.0, scaled[:, 2]], 1)
z = signals + 0.15 * rng.normal(size=signals.shape)
known = np.ones((n, 4), bool)
known[rng.permutation(n)[:90], 3] = False


def ball(p):  # radius of the smallest ball around points
    if p.shape[1] == 1:
        return np.ptp(p) / 2
    start = np.append(p.mean(0), np.linalg.norm(p - p.mean(0), axis=1).max() ** 2)
    fun = lambda v: v[-1] - ((p - v[:-1]) ** 2).sum(1)
    jac = lambda v: np.hstack([2 * (p - v[:-1]), np.ones((len(p), 1))])
    r = minimize(lambda v: v[-1], start, jac=lambda v: np.eye(len(v))[-1], constraints={"type": "ineq", "fun": fun, "jac": jac},
                 method="SLSQP", options={"ftol": 1e-15, "maxiter": 1000})
    return np.sqrt(((p - r.x[:-1]) ** 2).sum(1).max())


def median(p):  # mean distance from the geometric median
    if p.shape[1] == 1:
        return np.abs(p - np.median(p)).mean()
    f = lambda c: np.linalg.norm(p - c, axis=1).mean()
    best = minimize(f, p.mean(0), method="BFGS", options={"gtol": 1e-10}).x
    for _ in range(20000):  # Weiszfeld's iteration polishes it
        w = 1 / np.maximum(np.linalg.norm(p - best, axis=1), 1e-300)
        new = (p * w[:, None]).sum(0) / w.sum()
        if np.abs(new - best).max() < 1e-15:
            break
        best = new
    return f(best)


def distances(p):
    return np.linalg.norm(p[:, None] - p[None], axis=2)


measures = {
    "variance": (lambda p: p.var(0).sum(), np.mean),
    "mad": (median, np.mean),
    "radius": (ball, np.max),
    "diameter": (lambda p: distances(p).max(), np.max),
    "mpd": (lambda p: distances(p).mean() / 2, np.mean),
}


def modularity(subcodes):
    out = {}
    for name, (measure, aggregate) in measures.items():
        out[name] = [float(aggregate([measure(c[(y[:, j] == v) & known[:, j]]) for v in range(sizes[j])])) for j, c in enumerate(subcodes)]
    return out


def linear():
    columns, explained = [], []
    for j in range(4):
        rows = known[:, j]
        x = np.hstack([z, np.ones((n, 1))])
        w = np.linalg.lstsq(x[rows], scaled[rows, j], rcond=None)[0]
        columns.append((x @ w)[:, None])
        explained.append(float(1 - ((scaled[rows, j] - x[rows] @ w) ** 2).mean() / scaled[rows, j].var()))
    return columns, explained


def information():  # nats, 20 bins of equal width over all rows
    m = np.zeros((8, 4))
    for c in range(8):
        edges = np.histogram_bin_edges(z[:, c], 20)
        bins = np.clip(np.searchsorted(edges, z[:, c], side="right") - 1, 0, 19)
        for j in range(4):
            rows = known[:, j]
            joint = np.zeros((20, sizes[j]))
            np.add.at(joint, (bins[rows], y[rows, j]), 1)
            joint /= joint.sum()
            outer = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
            m[c, j] = (joint[joint > 0] * np.log(joint[joint > 0] / outer[joint > 0])).sum()
    return m


def assigned(width):
    gain = information().reshape(8 // width, width, 4).sum(1).T
    blocks = linear_sum_assignment(-gain)[1]
    return [int(b) * width for b in blocks]


codes, explained = linear()
expected = {"linear": {"explained": explained, "per_factor": modularity(codes)}}
for name, width in (("best", 1), ("blocks", 2)):
    first = assigned(width)
    expected[name] = {"columns": first, "per_factor": modularity([z[:, f:f + width] for f in first])}
np.save("codes.npy", z)
np.save("factors.npy", np.where(known, y, -1).astype(np.int16))
with open("expected.json", "w") as f:
    json.dump(expected, f, indent=1)
    f.write("\n")
