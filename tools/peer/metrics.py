"""Times metrics as disentanglement_lib computes them (NumPy, SciPy, scikit-learn), and the metrics of Zhang and Sugiyama
2024 in NumPy: one JSON line a metric, with milliseconds.

  python3 metrics.py --metric mig,med --threads 1

10,000 rows of ten code columns and five factors, those of dSprites; 5,000 more rows to test predictors.
"""
import argparse
import json
import os
import statistics
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--metric", default="mig", help="comma separated, or all")
p.add_argument("--repeat", type=int, default=5, help="at most; slow metrics end after 20 seconds")
p.add_argument("--threads", type=int, default=1)
args = p.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is loaded, which reads them
    os.environ[name] = str(args.threads)
os.environ.pop("OPENBLAS_CORETYPE", None)

import warnings  # noqa: E402

import numpy as np  # noqa: E402
import scipy.optimize  # noqa: E402
import scipy.stats  # noqa: E402
from scipy.spatial.distance import cdist, pdist  # noqa: E402
from sklearn import linear_model, metrics, preprocessing, svm  # noqa: E402

warnings.filterwarnings("ignore")
FACTORS = (3, 6, 40, 32, 32)  # shape, scale, orientation, x, y
COLUMNS, TRAIN, TEST, BATCH, BINS, PAIRS = 10, 10000, 5000, 64, 20, 5000


class Codes:
    """Codes of all 737,280 images: columns j and j+7 have factor j from -1 to 1, and every column noise. A look-up stands
    for the encoder."""

    def __init__(self):
        grid = np.stack(np.meshgrid(*map(np.arange, FACTORS), indexing="ij"), -1).reshape(-1, 5)
        self.table = 0.1 * np.random.default_rng(0).standard_normal((len(grid), COLUMNS), dtype=np.float32)
        for j in range(5):
            self.table[:, j::7] += 2 * grid[:, j:j + 1] / (FACTORS[j] - 1) - 1

    def __call__(self, y):
        return self.table[np.ravel_multi_index(y.T, FACTORS)]


def draw(n, rng):
    return np.stack([rng.randint(f, size=n) for f in FACTORS], 1)


# Mutual information of histogrammed codes, as mutual_info_score per pair.
def discretise(x, bins):
    return np.stack([np.digitize(c, np.histogram(c, bins)[1][:-1]) for c in x.T], 1)


def mutual_info(x, y):
    return np.array([[metrics.mutual_info_score(b, a) for b in y.T] for a in x.T])


def mig(d):
    mi = np.sort(mutual_info(discretise(d.x, BINS), d.y), axis=0)
    h = [metrics.mutual_info_score(c, c) for c in d.y.T]
    return np.mean((mi[-1] - mi[-2]) / h)


def entropy_score(imp):
    """Disentanglement and completeness of an importance matrix (DCI, MED)."""
    per_code = 1 - scipy.stats.entropy(imp.T + 1e-11, base=imp.shape[1])
    per_factor = 1 - scipy.stats.entropy(imp + 1e-11, base=imp.shape[0])
    return per_code @ imp.sum(1) / imp.sum(), per_factor @ imp.sum(0) / imp.sum()


def med(d):
    mi = mutual_info(discretise(d.x, BINS), d.y)
    return entropy_score(mi / mi.sum(0))[0]


def modularity(d):
    mi = mutual_info(discretise(d.x, BINS), d.y) ** 2
    top = mi.max(1)
    return np.mean(1 - (mi.sum(1) - top) / (top * (mi.shape[1] - 1)))


def explicitness(d):
    mean, std = d.x.mean(0), d.x.std(0)
    auc = []
    for k in range(5):
        m = linear_model.LogisticRegression().fit((d.x - mean) / std, d.y[:, k])
        for x, y in ((d.x, d.y), (d.xt, d.yt)):
            hot = preprocessing.MultiLabelBinarizer().fit_transform(y[:, k:k + 1])
            auc.append(metrics.roc_auc_score(hot, m.predict_proba((x - mean) / std)))
    return np.mean(auc[1::2])


def sap(d):
    score = np.zeros((d.x.shape[1], 5))
    for i in range(d.x.shape[1]):
        for k in range(5):
            m = svm.LinearSVC(C=0.01, class_weight="balanced").fit(d.x[:, i:i + 1], d.y[:, k])
            score[i, k] = np.mean(m.predict(d.xt[:, i:i + 1]) == d.yt[:, k])
    top = np.sort(score, axis=0)
    return np.mean(top[-1] - top[-2])


def beta_vae(d):
    def sample(n):
        pts, lab = np.zeros((n, COLUMNS)), d.rng.randint(5, size=n)
        for i, k in enumerate(lab):
            a, b = draw(BATCH, d.rng), draw(BATCH, d.rng)
            b[:, k] = a[:, k]
            pts[i] = np.mean(np.abs(d.code(a) - d.code(b)), axis=0)
        return pts, lab
    m = linear_model.LogisticRegression().fit(*sample(TRAIN))
    return m.score(*sample(TEST))


def factor_vae(d):
    glob = np.var(d.x, axis=0, ddof=1)
    active = np.sqrt(glob) >= 0.05

    def votes(n):
        v = np.zeros((5, COLUMNS), np.int64)
        for _ in range(n):
            k = d.rng.randint(5)
            y = draw(BATCH, d.rng)
            y[:, k] = y[0, k]
            z = d.code(y)
            v[k, np.argmin(np.var(z, axis=0, ddof=1)[active] / glob[active])] += 1
        return v
    train, test = votes(TRAIN), votes(TEST)
    return test[train.argmax(0), np.arange(COLUMNS)].sum() / max(1, test.sum())


# Spread of a set of points: radius, MAD, variance, diameter, mean distance.
def ball_of(points):
    """The ball with all the given points (few) on its boundary."""
    c0 = points[0]
    q = points[1:] - c0
    c = c0 + (np.linalg.lstsq(q, 0.5 * (q * q).sum(1), rcond=None)[0] if len(q) else 0)
    return c, ((c0 - c) ** 2).sum()


def welzl(x, order):
    """Centre, squared radius and support of the smallest ball: Welzl's
    algorithm with move-to-front, one point at a time in Python."""
    dim = x.shape[1]

    def run(n, support):
        c, r2 = ball_of(x[support]) if support else (x[order[0]], 0.0)
        best = support
        if len(support) == dim + 1:
            return c, r2, best
        for i in range(n):
            p = order[i]
            e = x[p] - c
            if e @ e > r2 * (1 + 1e-9) + 1e-14:
                c, r2, best = run(i, support + [p])
                del order[i]
                order.insert(0, p)
        return c, r2, best
    return run(len(order), [])


def radius(x):
    """Exact ball: add the farthest point to the support, find the ball of
    those few points, until no point lies outside (the radius only grows)."""
    keep, c, r2 = [0], x[0], 0.0
    while True:
        d2 = ((x - c) ** 2).sum(1)
        far = int(d2.argmax())
        if d2[far] <= r2 * (1 + 1e-9) + 1e-14:
            return float(np.sqrt(d2[far]))
        keep.append(far)
        c, r2, best = welzl(x[keep], list(range(len(keep)))[::-1])
        keep = [keep[i] for i in best]


def mad(x, tol=1e-8):
    """Mean distance to the geometric median (Weiszfeld)."""
    c = x.mean(0)
    for _ in range(1000):
        r = np.maximum(np.sqrt(((x - c) ** 2).sum(1)), 1e-12)
        new = (x / r[:, None]).sum(0) / (1 / r).sum()
        done = np.abs(new - c).max() < tol
        c = new
        if done:
            break
    return np.sqrt(((x - c) ** 2).sum(1)).mean()


def variance(x):
    return ((x - x.mean(0)) ** 2).sum(1).mean()


def diameter(x):
    return max(cdist(x[i:i + 1000], x[i:]).max() for i in range(0, len(x), 1000))


def mpd(x):
    return pdist(x).sum() * 2 / len(x) ** 2


def q_product(d, deviation):
    """Sum over factors of the mean deviation of the factor's own two code
    dimensions over the samples that share each of its values."""
    z = d.x.astype(np.float64).reshape(len(d.x), 5, -1)
    return sum(np.mean([deviation(z[d.y[:, k] == v, k]) for v in np.unique(d.y[:, k])])
               for k in range(5))


def contraction(d):
    """max and mean over pairs of d_Y / d_Z (factors scaled to [0, 1])."""
    n = PAIRS
    ratio = pdist(d.unit[:n]) / np.maximum(pdist(d.x[:n].astype(np.float64)), 1e-12)
    return ratio.mean()


def inverse_linear(d):
    h = np.linalg.lstsq(d.aug, d.unit, rcond=None)[0]
    return ((d.aug @ h - d.unit) ** 2).sum(1).mean()


def inverse_quantile(d):
    """Median regression (QuantileRegressor, HiGHS), one LP per factor."""
    err = 0.0
    for k in range(5):
        m = linear_model.QuantileRegressor(quantile=0.5, alpha=0, solver="highs").fit(d.x, d.unit[:, k])
        err += np.abs(m.predict(d.x) - d.unit[:, k]).mean()
    return err


def inverse_minimax(d):
    """Smallest maximum error, one LP per factor (scipy linprog, HiGHS)."""
    worst, a = 0.0, d.aug
    one = np.ones((len(a), 1))
    for k in range(5):
        b = d.unit[:, k]
        r = scipy.optimize.linprog(np.r_[np.zeros(a.shape[1]), 1],
                                   A_ub=np.vstack([np.hstack([a, -one]), np.hstack([-a, -one])]),
                                   b_ub=np.r_[b, -b], bounds=(None, None), method="highs")
        worst = max(worst, r.fun)
    return worst


METRICS = dict(mig=mig, med=med, modularity=modularity, explicitness=explicitness, sap=sap, beta_vae=beta_vae, factor_vae=factor_vae,
               contraction=contraction, inverse_linear=inverse_linear, inverse_quantile=inverse_quantile, inverse_minimax=inverse_minimax)
for deviation in (radius, mad, variance, diameter, mpd):
    METRICS["q_product_" + deviation.__name__] = lambda d, f=deviation: q_product(d, f)


class Data:
    def __init__(self):
        self.rng = np.random.RandomState(1)
        self.code = Codes()
        self.y, self.yt = draw(TRAIN, self.rng), draw(TEST, self.rng)
        self.x, self.xt = self.code(self.y), self.code(self.yt)
        self.unit = self.y / (np.array(FACTORS) - 1.0)
        self.aug = np.hstack([self.x, np.ones((len(self.x), 1))]).astype(np.float64)


data = Data()
for name in METRICS if args.metric == "all" else args.metric.split(","):
    times, cpu, end = [], [], time.perf_counter() + 20
    while len(times) < args.repeat and time.perf_counter() < end:
        used, start = time.process_time(), time.perf_counter()
        value = METRICS[name](data)
        times.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    print(json.dumps({
        "metric": name, "threads": args.threads, "value": round(float(value), 5), "best_ms": round(min(times) * 1e3, 3),
        "median_ms": round(statistics.median(times) * 1e3, 3), "cpu_ms": round(statistics.median(cpu) * 1e3, 3), "times": len(times)}), flush=True)
