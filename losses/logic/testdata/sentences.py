"""Reference values of sentences: numpy, scipy's linear programs and PyTorch's automatic differentiation in float64.

A minimum over functions is found by a solver of its own (closed forms, linear programs, or BFGS from several starts);
its gradient in the codes is that at the optimal function (envelope theorem). Maps that are fitted by one criterion and
measured by another are differentiated through torch.linalg.lstsq's closed form, or by central differences of linear programs.
"""
import itertools, json, math, sys
import numpy as np, torch
from scipy.optimize import linprog, minimize

rng = np.random.default_rng(20240613)
A = np.repeat(np.arange(3), 8); B = np.tile(np.repeat(np.arange(4), 2), 3)
labels = np.stack([A, B], 1)
values = np.stack([A / 2, B / 3], 1)
n = len(A)
Z = np.stack([values[:, 0] + .3 * values[:, 1] ** 2, np.sin(2 * values[:, 0]), values[:, 1] - .2 * values[:, 0], np.cos(values[:, 1] + values[:, 0])], 1)
Z = Z + .15 * rng.standard_normal(Z.shape)
Z = Z.round(6)
logvar = (.5 * rng.standard_normal(Z.shape) - 1).round(6)
ZA, ZB = [0, 1], [2, 3]
cases = []

def case(sentence, f, tol=1e-7, gtol=None, **more):
    z = torch.tensor(Z, requires_grad=True)
    v = f(z)
    g, = torch.autograd.grad(v, z, allow_unused=True)
    g = torch.zeros_like(z) if g is None else g
    cases.append(dict(sentence=sentence, value=float(v), gradient=g.numpy().round(12).tolist(), tolerance=tol, gradient_tolerance=gtol or max(tol * 100, 1e-6), **more))

Y = torch.tensor(values)
ones = torch.ones(n, 1, dtype=torch.float64)
aug = lambda x, c=True: torch.cat([x, ones[: len(x)]], 1) if c else x

def ls(x, y, const=True):       # least squares map, differentiable closed form
    a = aug(x, const)
    return torch.linalg.solve(a.T @ a, a.T @ y)

def lad(x, y):                  # least absolute map, one LP for each target
    a = np.c_[x, np.ones(len(x))]; m, d = a.shape; W = []
    for k in range(y.shape[1]):
        c = np.r_[np.zeros(d), np.ones(m)]
        G = np.block([[a, -np.eye(m)], [-a, -np.eye(m)]]); h = np.r_[y[:, k], -y[:, k]]
        W.append(linprog(c, G, h, bounds=[(None, None)] * d + [(0, None)] * m, method="highs").x[:d])
    return np.array(W).T

def cheb(x, y):                 # least maximum map of one target
    a = np.c_[x, np.ones(len(x))]; m, d = a.shape
    c = np.r_[np.zeros(d), 1]; o = np.ones((m, 1))
    G = np.block([[a, -o], [-a, -o]]); h = np.r_[y, -y]
    r = linprog(c, G, h, bounds=[(None, None)] * d + [(0, None)], method="highs")
    return r.x[:d, None], r.fun

def minimax(x, y):              # joint minimax map: min t with |row residual|^2 <= t^2, SLSQP from least squares
    a = np.c_[x, np.ones(len(x))]; d, k = a.shape[1], y.shape[1]
    W0 = np.linalg.lstsq(a, y, rcond=None)[0]
    s0 = np.r_[W0.ravel(), np.linalg.norm(a @ W0 - y, axis=1).max() + 1e-3]
    con = dict(type="ineq", fun=lambda s: s[-1] ** 2 - ((a @ s[:-1].reshape(d, k) - y) ** 2).sum(1),
               jac=lambda s: np.c_[-(2 * (a @ s[:-1].reshape(d, k) - y))[:, None, :].repeat(d, 1).reshape(len(a), d * k) * np.repeat(a[:, :, None], k, 2).reshape(len(a), d * k), 2 * s[-1] * np.ones(len(a))])
    r = minimize(lambda s: s[-1], s0, jac=lambda s: np.r_[np.zeros(d * k), 1], constraints=[con], method="SLSQP", options=dict(ftol=1e-15, maxiter=2000))
    return r.x[:-1].reshape(d, k), r.fun

def ball(p):                    # centre of the smallest ball around points: over pairs and triples in the plane
    best = None
    for m in (2, 3):
        for s in itertools.combinations(range(len(p)), m):
            q = p[list(s)]
            if m == 2: c = q.mean(0)
            else:
                M = 2 * (q[1:] - q[0]); b = (q[1:] ** 2).sum(1) - (q[0] ** 2).sum()
                if abs(np.linalg.det(M)) < 1e-12: continue
                c = np.linalg.solve(M, b)
            r = np.linalg.norm(p - c, axis=1).max()
            if best is None or r < best[1]: best = (c, r)
    return best[0]

def median(p):                  # geometric median: BFGS from the mean, then Newton steps
    c = p.mean(0)
    for _ in range(20000):
        w = 1 / np.linalg.norm(p - c, axis=1); new = (p * w[:, None]).sum(0) / w.sum()
        if np.abs(new - c).max() < 1e-16: break
        c = new
    return c

sq = lambda a, b: ((a - b) ** 2).sum(1)
eu = lambda a, b: ((a - b) ** 2).sum(1).sqrt()
ab = lambda a, b: (a - b).abs().sum(1)
t = lambda x: torch.tensor(np.asarray(x))
d = lambda x: x.detach().numpy()

def fd(value, h=1e-5):          # a value whose gradient is by central differences, where the optimum has several active rows
    def f(z):
        x = d(z).copy(); g = np.zeros_like(x)
        for i in np.ndindex(*x.shape):
            p, m = x.copy(), x.copy(); p[i] += h; m[i] -= h
            g[i] = (value(p) - value(m)) / (2 * h)
        return (z * t(g)).sum() + value(x) - (z.detach() * t(g)).sum()
    return f

# affine, linear
case('exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)', lambda z: sq(aug(z) @ ls(z, Y), Y).mean())
case('exists h: z -> y in linear: forall[mean] i: h(z(i)) =[squared] y(i)', lambda z: sq(z @ ls(z, Y, False), Y).mean())
case('exists h: z -> y in affine: forall[sum] i: h(z(i)) =[squared] y(i)', lambda z: sq(aug(z) @ ls(z, Y), Y).sum())
case('exists h: z -> y in affine: forall[mean] i: h(z(i)) =[absolute] y(i)', fd(lambda x: float(ab(aug(t(x)) @ t(lad(x, values)), Y).mean())), 1e-7, 1e-5)
case('exists h: z -> y in affine: forall i: h(z(i)) =[euclidean] y(i)', fd(lambda x: minimax(x, values)[1], 1e-4), 1e-7, 1e-4)
case('exists h: z -> y.a in affine: forall i: h(z(i)) =[absolute] y.a(i)', fd(lambda x: cheb(x, values[:, 0])[1]), 1e-7, 1e-5)
case('exists h: z.a -> y.a in affine: forall[mean] i: h(z.a(i)) =[squared] y.a(i)', lambda z: sq(aug(z[:, ZA]) @ ls(z[:, ZA], Y[:, :1]), Y[:, :1]).mean())
case('exists h: y -> z in affine: forall[mean] i: z(i) =[squared] h(y(i))', lambda z: sq(aug(Y) @ ls(Y, z), z).mean())
case('exists h: z.a -> z.b in affine: forall[mean] i: h(z.a(i)) =[squared] z.b(i)', lambda z: sq(aug(z[:, ZA]) @ ls(z[:, ZA], z[:, ZB]), z[:, ZB]).mean())
def norms(x):
    a = np.c_[x, np.ones(n)]; W = np.linalg.lstsq(a, values, rcond=None)[0]
    for _ in range(5000):
        w = 1 / np.linalg.norm(a @ W - values, axis=1)
        new = np.linalg.solve(a.T @ (a * w[:, None]), a.T @ (values * w[:, None]))
        if np.abs(new - W).max() < 1e-15: break
        W = new
    return W
case('exists h: z -> y in affine: forall[mean] i: h(z(i)) =[euclidean] y(i)', lambda z: eu(aug(z) @ t(norms(d(z))), Y).mean())
case('exists h: z -> y in affine: forall[mean-square] i: h(z(i)) =[euclidean] y(i)', lambda z: sq(aug(z) @ ls(z, Y), Y).mean())

# isometries by Procrustes
def procrustes(x, y):           # x [n, p] to y [n, q], p <= q: rows of R orthonormal
    xc, yc = x - x.mean(0), y - y.mean(0)
    u, s, vt = np.linalg.svd(xc.T @ yc, full_matrices=False)
    R = u @ vt
    return R, y.mean(0) - x.mean(0) @ R
def iso(x, y):
    R, o = procrustes(d(x), d(y))
    return sq(x @ t(R) + t(o), y).mean()
case('exists h: z.a -> y in isometry: forall[mean] i: h(z.a(i)) =[squared] y(i)', lambda z: iso(z[:, ZA], Y))
case('exists h: z.a -> z.b in isometry: forall[mean] i: h(z.a(i)) =[squared] z.b(i)', lambda z: iso(z[:, ZA], z[:, ZB]))
case('exists h: y -> z in isometry: forall[mean] i: h(y(i)) =[squared] z(i)', lambda z: iso(Y, z))

# functions of levels
def levels(z, cols, k, centre, dist, agg):
    out = []
    for v in np.unique(labels[:, k]):
        p = z[labels[:, k] == v][:, cols]
        c = centre(p)
        out.append(dist(p, c.expand_as(p)))
    return agg(out)
mean_c = lambda p: p.mean(0).detach()
med_c = lambda p: t(median(d(p)))
ball_c = lambda p: t(ball(d(p)))
both = lambda z, c, di, ag: levels(z, ZA, 0, c, di, ag) + levels(z, ZB, 1, c, di, ag)
allmean = lambda o: torch.cat(o).mean()
allmax = lambda o: torch.cat(o).max()
case('exists m.a: y.a -> z.a, m.b: y.b -> z.b: (forall[mean] i: z.a(i) =[squared] m.a(y.a(i))) and (forall[mean] i: z.b(i) =[squared] m.b(y.b(i)))', lambda z: both(z, mean_c, sq, allmean))
case('exists m.a: y.a -> z.a, m.b: y.b -> z.b: (forall[mean] i: z.a(i) =[euclidean] m.a(y.a(i))) and (forall[mean] i: z.b(i) =[euclidean] m.b(y.b(i)))', lambda z: both(z, med_c, eu, allmean))
case('exists m.a: y.a -> z.a, m.b: y.b -> z.b: (forall i: z.a(i) =[euclidean] m.a(y.a(i))) and (forall i: z.b(i) =[euclidean] m.b(y.b(i)))', fd(lambda x: float(both(t(x), ball_c, eu, allmax))), 1e-7, 1e-5)
case('exists m.a: y.a -> z.a: forall[mean] i: z.a(i) =[squared] m.a(y.a(i))', lambda z: levels(z, ZA, 0, mean_c, sq, allmean))
def tuples(z):
    out = []
    for v in np.unique(labels, axis=0):
        p = z[(labels == v).all(1)]; out.append(sq(p, p.mean(0).detach().expand_as(p)))
    return torch.cat(out).mean()
case('exists m: y -> z: forall[mean] i: z(i) =[squared] m(y(i))', tuples)

# fitted by one criterion, measured by another
def by_fd(fit, measure):        # derivative through the fitted map by central differences of the fit
    def f(z):
        x = d(z).copy(); v = lambda x: float(measure(aug(t(x)) @ t(fit(x, values)), Y))
        g = np.zeros_like(x); h = 1e-6
        for i in np.ndindex(*x.shape):
            p, m = x.copy(), x.copy(); p[i] += h; m[i] -= h
            g[i] = (v(p) - v(m)) / (2 * h)
        return (z * t(g)).sum() + v(x) - (z.detach() * t(g)).sum()
    return f
case('exists h: z -> y in affine by least squares: forall i: h(z(i)) =[euclidean] y(i)', lambda z: eu(aug(z) @ ls(z, Y), Y).max())
case('exists h: z -> y in affine by least squares: forall[mean] i: h(z(i)) =[absolute] y(i)', lambda z: ab(aug(z) @ ls(z, Y), Y).mean())
case('exists h: z -> y in affine by absolute: forall[mean] i: h(z(i)) =[squared] y(i)', by_fd(lad, lambda a, b: sq(a, b).mean()), 1e-7, 1e-4)
case('exists h: z -> y.a in affine by max: forall[mean] i: h(z(i)) =[squared] y.a(i)', lambda z: by_fd(lambda x, y: cheb(x, y[:, 0])[0], lambda a, b: sq(a, b[:, :1]).mean())(z), 1e-7, 1e-4)

# guards, weights, connectives
sel = B >= 2
case('exists h: z -> y.a in affine: forall[mean] i: y.b(i) = 1 -> h(z(i)) =[squared] y.a(i)',
     lambda z: sq(aug(z[B == 3]) @ ls(z[B == 3], Y[B == 3][:, :1]), Y[B == 3][:, :1]).mean(), 1e-6, 1e-4)
def pairvar(z):
    out = []
    for v in range(3):
        p = z[A == v][:, ZA]; out.append(((p[:, None] - p[None]) ** 2).sum(2).reshape(-1))
    return torch.cat(out).mean()
case('0.5 * (exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)) and forall[mean] i, j: y.a(i) = y.a(j) -> z.a(i) =[squared] z.a(j)',
     lambda z: .5 * sq(aug(z) @ ls(z, Y), Y).mean() + pairvar(z))
case('with and = max: (exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)) and forall[mean] i, j: y.a(i) = y.a(j) -> z.a(i) =[squared] z.a(j)',
     lambda z: torch.maximum(sq(aug(z) @ ls(z, Y), Y).mean(), pairvar(z)))

# moves: turns of the factor's circle, a (period 3) in z.a, b (period 4) in z.b
def rot(x, ang):                # x [m, 2]
    c, s = torch.cos(ang), torch.sin(ang)
    return torch.stack([c * x[:, 0] - s * x[:, 1], s * x[:, 0] + c * x[:, 1]], 1)
I, J = [x.reshape(-1) for x in np.meshgrid(np.arange(n), np.arange(n), indexing='ij')]
angA = t(2 * math.pi * (A[J] - A[I]) / 3); angB = t(2 * math.pi * (B[J] - B[I]) / 4)
circ = dict(circular=True)
case('forall[mean] i, j, g(i, j): z.a(j) =[squared] act(g, z.a(i))', lambda z: sq(z[J][:, ZA], rot(z[I][:, ZA], angA)).mean(), **circ)
case('forall i, j, g(i, j): z.b(j) =[euclidean] act(g, z.b(i))', lambda z: eu(z[J[I != J]][:, ZB], rot(z[I[I != J]][:, ZB], angB[I != J])).max(), **circ)
case('forall[mean] i, j, g(i, j): z(j) =[squared] act(g, z(i))', lambda z: sq(z[J], torch.cat([rot(z[I][:, ZA], angA), rot(z[I][:, ZB], angB)], 1)).mean(), **circ)
case('forall[mean] i, j, g(i, j): z.b(j) =[squared] act[2](g, z.b(i))', lambda z: sq(z[J][:, ZB], rot(z[I][:, ZB], 2 * angB)).mean(), **circ)
same = A[I] == A[J]
case('forall[mean] i, j, g(i, j): y.a(i) = y.a(j) -> z.b(j) =[absolute] act(g, z.b(i))', lambda z: ab(z[J[same]][:, ZB], rot(z[I[same]][:, ZB], angB[same])).mean(), **circ)

# premetrics
cos = lambda a, b: 1 - (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))
case('forall[mean] i, j: y.a(i) = y.a(j) -> z.a(i) =[cosine] z.a(j)', lambda z: cos(z[I[same]][:, ZA], z[J[same]][:, ZA]).mean())
L = t(logvar)
kl = lambda m, l, mm, ll: .5 * (ll - l + (torch.exp(l) + (m - mm) ** 2) / torch.exp(ll) - 1).sum(1)
ws = lambda m, l, mm, ll: (((m - mm) ** 2).sum(1) + ((torch.exp(l / 2) - torch.exp(ll / 2)) ** 2).sum(1)).clamp_min(1e-300).sqrt()
si, sj = I[same], J[same]; off = si != sj
case('forall[mean] i, j: y.a(i) = y.a(j) -> z.a(i) =[kl] z.a(j)', lambda z: kl(z[si][:, ZA], L[si][:, ZA], z[sj][:, ZA], L[sj][:, ZA]).mean(), posterior=True)
case('forall[mean] i, j: y.a(i) = y.a(j) -> z(i) =[wasserstein] z(j)', lambda z: ws(z[si[off]], L[si[off]], z[sj[off]], L[sj[off]]).sum() / len(si), posterior=True)

# existential aggregators
dist = lambda z, c: (z[:, 0] - c).abs()
C = [0., .5, 1.]
case('forall[mean] i: exists[harmonic] c in {0, 0.5, 1}: z[0:1](i) =[absolute] c', lambda z: (1 / sum(1 / dist(z, c) for c in C)).mean())
case('forall[mean] i: exists[harmonic-square] c in {0, 0.5, 1}: z[0:1](i) =[absolute] c', lambda z: (1 / sum(1 / dist(z, c) ** 2 for c in C).sqrt()).mean())
case('with -> = strict: forall[mean] i, j: y.a(i) =[discrete] y.a(j) -> z.a(i) =[squared] z.a(j)', lambda z: (t(same * 1.) * sq(z[I][:, ZA], z[J][:, ZA])).mean())

json.dump(dict(codes=Z.tolist(), values=values.tolist(), labels=labels.tolist(), logvariances=logvar.tolist(), subcodes=dict(a=ZA, b=ZB), factors=['a', 'b'], cases=cases), open(sys.argv[1], 'w'))
for c in cases: print('%-10.6g %.3g  %s' % (c['value'], np.abs(c['gradient']).max(), c['sentence'][:110]))
print(len(cases))
