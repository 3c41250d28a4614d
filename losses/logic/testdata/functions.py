# Makes functions.json: quantities of sentences that quantify over functions, their gradients in the codes and the functions found, in
# double precision. Optima are those of other solvers (NumPy, SciPy 1.10: linear programs by HiGHS, SLSQP, BFGS), made exact by Newton steps
# on their conditions; gradients are automatic differentiation (PyTorch 1.13) of a last Newton step. Independent of this module.
import json
import numpy as np
import torch
from scipy.optimize import linprog, minimize
torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(8)

n = 15
z0 = rng.normal(size=(n, 4))
y0 = rng.normal(size=(n, 3))
labels = np.stack([rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 3, n)], 1).astype(float)
labels[4, 2] = labels[9, 0] = -1
SHAPE, BIG, XY = [0, 1], [3, 0, 2], [2]
y = torch.tensor(y0)
known = [i for i in range(n) if (labels[i] >= 0).all()]
sentences = []

def newton(F, x):
    "solves F(x) = 0; the last step is differentiable in what F depends on"
    for _ in range(50):
        J = torch.autograd.functional.jacobian(F, x.detach())
        step = torch.linalg.lstsq(J, F(x).detach()[:, None]).solution[:, 0]
        x = (x - step).detach()
        if step.abs().max() < 1e-15: break
    assert F(x).abs().max() < 1e-11, F(x).abs().max()
    J = torch.autograd.functional.jacobian(F, x).detach()
    return x - torch.linalg.pinv(J) @ F(x)

def ones(X, linear): return X if linear else torch.cat([torch.ones(len(X), 1), X], 1)

def squares(X, T): return torch.linalg.solve(X.T @ X, X.T @ T)

def absolute(X, T):
    "the linear program of every column; the map goes through its basis"
    columns = []
    m, p = X.shape
    for k in range(T.shape[1]):
        A = X.detach().numpy(); t = T[:, k].detach().numpy()
        r = linprog(np.r_[np.zeros(p), np.ones(2 * m)], A_eq=np.hstack([A, np.eye(m), -np.eye(m)]), b_eq=t,
                    bounds=[(None, None)] * p + [(0, None)] * 2 * m, method="highs-ds")
        basis = np.argsort(np.abs(t - A @ r.x[:p]))[:p]
        columns.append(torch.linalg.solve(X[basis], T[basis, k]))
    return torch.stack(columns, 1)

def largest(X, T):
    "least largest length: SLSQP, then its conditions for the active rows"
    m, p = X.shape; K = T.shape[1]
    A, t = X.detach().numpy(), T.detach().numpy()
    W0 = np.linalg.lstsq(A, t, rcond=None)[0]
    f = lambda v: t - A @ v[:-1].reshape(p, K)
    best = minimize(lambda v: v[-1], np.r_[W0.ravel(), (f(np.r_[W0.ravel(), 0]) ** 2).sum(1).max()], method="SLSQP", options=dict(ftol=1e-15, maxiter=1000),
                    jac=lambda v: np.r_[np.zeros(p * K), 1],
                    constraints=dict(type="ineq", fun=lambda v: v[-1] - (f(v) ** 2).sum(1),
                                     jac=lambda v: np.hstack([2 * np.einsum("ia,ik->iak", A, f(v)).reshape(m, -1), np.ones((m, 1))])))
    r = f(best.x); s = best.x[-1]
    active = np.where(s - (r ** 2).sum(1) < 1e-6 * s)[0]
    q = len(active)
    B = np.stack([np.outer(A[i], r[i]).ravel() for i in active], 1)
    l = np.linalg.lstsq(np.vstack([B, np.ones((1, q))]), np.r_[np.zeros(p * K), 1], rcond=None)[0]
    assert (l > 1e-6).all(), l
    Xa, Ta = X[active], T[active]
    def F(u):
        W, mu, sq = u[:p * K].reshape(p, K), u[p * K:p * K + q], u[-1]
        e = Ta - Xa @ W
        return torch.cat([(Xa.T @ (mu[:, None] * e)).flatten(), (e ** 2).sum(1) - sq, mu.sum()[None] - 1])
    u = newton(F, torch.tensor(np.r_[best.x[:-1], l, s]))
    return u[:p * K].reshape(p, K)

def norms(X, T):
    "least mean length: BFGS, then its normal equations"
    m, p = X.shape; K = T.shape[1]
    if K == 1: return absolute(X, T)
    A, t = X.detach().numpy(), T.detach().numpy()
    def f(v):
        r = t - A @ v.reshape(p, K); s = np.sqrt((r ** 2).sum(1))
        return s.sum(), -(A.T @ (r / s[:, None])).ravel()
    best = minimize(f, np.linalg.lstsq(A, t, rcond=None)[0].ravel(), jac=True, method="BFGS", options=dict(gtol=1e-10, maxiter=5000))
    lengths = np.sqrt(((t - A @ best.x.reshape(p, K)) ** 2).sum(1))
    on, off = np.where(lengths < 1e-3)[0], np.where(lengths >= 1e-3)[0]  # rows on the map have multipliers
    q = len(on)
    def F(u):
        W, mu = u[:p * K].reshape(p, K), u[p * K:].reshape(q, K)
        e = T[off] - X[off] @ W
        return torch.cat([(X[off].T @ (e / e.norm(dim=1, keepdim=True)) + X[on].T @ mu).flatten(), (T[on] - X[on] @ W).flatten()])
    e = t[off] - A[off] @ best.x.reshape(p, K)
    pull = -A[off].T @ (e / np.sqrt((e ** 2).sum(1))[:, None])
    mu = np.linalg.lstsq(A[on].T, pull, rcond=None)[0] if q else np.zeros((0, K))
    u = newton(F, torch.tensor(np.r_[best.x, mu.ravel()]))
    assert q == 0 or (u[p * K:].reshape(q, K).norm(dim=1) < 1).all(), "not the optimum"
    return u[:p * K].reshape(p, K)

def isometry(X, T):
    x, t = X - X.mean(0), T - T.mean(0)
    U, S, Vh = torch.linalg.svd(t.T @ x, full_matrices=False)
    Q = U @ Vh
    return torch.cat([(T.mean(0) - Q @ X.mean(0))[None], Q.T])

FIT = dict(squares=squares, absolute=absolute, largest=largest, norms=norms)

def length(r, premetric):
    return dict(euclidean=lambda: r.norm(dim=1), squared=lambda: (r ** 2).sum(1), absolute=lambda: r.abs().sum(1))[premetric]()

def aggregate(d, a):
    return {"mean": d.mean(), "sum": d.sum(), "max": d.max(), "mean-square": (d ** 2).mean()}[a]

def map_(kind, fit, a, premetric, source, target, rows):
    def f(z):
        X, T = source(z)[rows], target(z)[rows]
        if kind == "isometry":
            W = isometry(X, T); X = ones(X, False)
        else:
            X = ones(X, kind == "linear"); W = FIT[fit](X, T)
        return aggregate(length(T - X @ W, premetric), a), [W.detach().tolist()]
    return f

def levels(fit, a, premetric, factors, target, rows):
    def f(z):
        groups = {}
        for i in rows: groups.setdefault(tuple(labels[i][factors]), []).append(i)
        d, points = [], []
        for level in sorted(groups):
            own = target(z)[groups[level]]
            if fit == "absolute":  # the middle of the two middle numbers
                s = own.sort(0).values; m = len(s)
                c = ((s[(m - 1) // 2] + s[m // 2]) / 2)[None]
            elif len(own) == 1: c = own
            elif len(own) == 2 and fit == "norms": c = own.mean(0, keepdim=True)
            else: c = FIT[fit](torch.ones(len(own), 1), own)
            d.append(length(own - c, premetric)); points.append(list(level) + c[0].detach().tolist())
        return aggregate(torch.cat(d), a), points
    return f

def add(text, f):
    z = torch.tensor(z0, requires_grad=True)
    v, found = f(z)
    v.backward()
    g = z.grad if z.grad is not None else torch.zeros_like(z)
    sentences.append(dict(Text=text, Value=v.item(), Gradient=g.tolist(), Found=found))

whole, shape, big, xy = (lambda z: z), (lambda z: z[:, SHAPE]), (lambda z: z[:, BIG]), (lambda z: z[:, XY])
Y, HUE = (lambda z: y), (lambda z: y[:, 2:])
every = list(range(n))
hue = [i for i in every if labels[i, 2] >= 0]
shaped = [i for i in every if labels[i, 0] >= 0]
end = lambda z: z[:, 2:4]

add("exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)", map_("affine", "squares", "mean", "squared", whole, Y, known))
add("exists h: z.big -> y in linear: forall[sum] i: y(i) =[squared] h(z.big(i))", map_("linear", "squares", "sum", "squared", big, Y, known))
add("exists h: z.shape -> z[2:4] in affine: forall[mean-square] i: h(z.shape(i)) =[euclidean] z[2:4](i)", map_("affine", "squares", "mean-square", "euclidean", shape, end, every))
add("exists h: z.big -> y in affine: forall[mean] i: h(z.big(i)) =[absolute] y(i)", map_("affine", "absolute", "mean", "absolute", big, Y, known))
add("exists h: z.shape -> y.hue in linear: forall[sum] i: h(z.shape(i)) =[euclidean] y.hue(i)", map_("linear", "absolute", "sum", "euclidean", shape, HUE, hue))
add("exists h: z.shape -> y in affine: forall[mean] i: h(z.shape(i)) =[euclidean] y(i)", map_("affine", "norms", "mean", "euclidean", shape, Y, known))
add("exists h: z.shape -> z[2:4] in linear: forall[sum] i: h(z.shape(i)) =[euclidean] z[2:4](i)", map_("linear", "norms", "sum", "euclidean", shape, end, every))
add("exists h: z.shape -> y in affine: forall i: h(z.shape(i)) =[euclidean] y(i)", map_("affine", "largest", "max", "euclidean", shape, Y, known))
add("exists h: z.shape -> z[2:4] in linear: forall i: h(z.shape(i)) =[squared] z[2:4](i)", map_("linear", "largest", "max", "squared", shape, end, every))
add("exists h: z.shape -> y.hue in affine: forall i: h(z.shape(i)) =[absolute] y.hue(i)", map_("affine", "largest", "max", "absolute", shape, HUE, hue))
add("exists h: z.shape -> y in isometry: forall[mean] i: h(z.shape(i)) =[squared] y(i)", map_("isometry", "", "mean", "squared", shape, Y, known))
add("exists h: z.shape -> z[2:4] in isometry: forall[mean-square] i: h(z.shape(i)) =[euclidean] z[2:4](i)", map_("isometry", "", "mean-square", "euclidean", shape, end, every))
add("exists h: y -> z in affine: forall[mean] i: h(y(i)) =[absolute] z(i)", map_("affine", "absolute", "mean", "absolute", Y, whole, known))
add("exists m.shape: y.shape -> z.shape: forall[mean] i: z.shape(i) =[squared] m.shape(y.shape(i))", levels("squares", "mean", "squared", [0], shape, shaped))
add("exists m.shape: y.shape -> z.shape: forall[mean] i: z.shape(i) =[euclidean] m.shape(y.shape(i))", levels("norms", "mean", "euclidean", [0], shape, shaped))
add("exists m.shape: y.shape -> z.shape: forall i: z.shape(i) =[euclidean] m.shape(y.shape(i))", levels("largest", "max", "euclidean", [0], shape, shaped))
add("exists m: y -> z.big: forall[sum] i: m(y(i)) =[squared] z.big(i)", levels("squares", "sum", "squared", [0, 1, 2], big, known))
add("exists h: z.shape -> y in affine by least squares: forall i: h(z.shape(i)) =[euclidean] y(i)", map_("affine", "squares", "max", "euclidean", shape, Y, known))
add("exists h: z.shape -> z[2:4] in linear by least squares: forall[mean] i: h(z.shape(i)) =[absolute] z[2:4](i)", map_("linear", "squares", "mean", "absolute", shape, end, every))
add("exists h: z.shape -> y in affine by absolute: forall[mean] i: h(z.shape(i)) =[squared] y(i)", map_("affine", "absolute", "mean", "squared", shape, Y, known))
add("exists h: z.shape -> z[2:4] in linear by absolute: forall i: h(z.shape(i)) =[euclidean] z[2:4](i)", map_("linear", "absolute", "max", "euclidean", shape, end, every))
add("exists h: z.shape -> y in affine by max: forall[mean] i: h(z.shape(i)) =[squared] y(i)", map_("affine", "largest", "mean", "squared", shape, Y, known))
add("exists h: z.shape -> z[2:4] in linear by max: forall[sum] i: h(z.shape(i)) =[absolute] z[2:4](i)", map_("linear", "largest", "sum", "absolute", shape, end, every))
add("exists h: z.shape -> y.hue in affine by max: forall[mean] i: h(z.shape(i)) =[euclidean] y.hue(i)", map_("affine", "largest", "mean", "euclidean", shape, HUE, hue))
add("exists h: z.shape -> z[1:4] in isometry by least squares: forall[mean] i: h(z.shape(i)) =[euclidean] z[1:4](i)", map_("isometry", "", "mean", "euclidean", shape, lambda z: z[:, 1:4], every))
add("exists m.shape: y.shape -> z.shape by max: forall[mean] i: z.shape(i) =[squared] m.shape(y.shape(i))", levels("largest", "mean", "squared", [0], shape, shaped))
add("exists m.shape: y.shape -> z.shape by least squares: forall i: z.shape(i) =[euclidean] m.shape(y.shape(i))", levels("squares", "max", "euclidean", [0], shape, shaped))

json.dump(dict(Z=z0.tolist(), Y=y0.tolist(), Labels=labels.tolist(), Sentences=sentences), open("functions.json", "w"))
for s in sentences: print("%.12g" % s["Value"], s["Text"])
