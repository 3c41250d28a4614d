"""Values and gradients of sentences with aggregators of exists and forall, cosine distances, divergences and
distances of posteriors, strict operations and samples, in double precision by automatic differentiation (PyTorch):
python3 aggregators.py > aggregators.json. Quantities are written out from the formulas of the package comment,
over all tuples, without scaling."""
import json

import torch

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
N, D = 6, 4
z = torch.randn(N, D)
mean = z + 0.3 * torch.randn(N, D)
lv = 0.7 * torch.randn(N, D)
labels = [[0, 0, 1], [1, 1, 0], [2, 0, 2], [0, 1, 1], [1, 0, 0], [0, 1, 2]]
y = [[a, b / 2, c / 2] for a, b, c in labels]
Y = torch.tensor(y)
ROWS = range(N)
for t in (z, mean, lv):
    t.requires_grad_(True)


def squared(a, b): return ((a - b) ** 2).sum()
def absolute(a, b): return (a - b).abs().sum()
def euclidean(a, b): return squared(a, b).sqrt() if squared(a, b) > 0 else squared(a, b)
def cosine(a, b): return 1 - torch.nn.functional.cosine_similarity(a, b, dim=0, eps=0)


def normal(i, c, m): return torch.distributions.Normal(m[i, c], (lv[i, c] / 2).exp())
def kl(i, j, c, d=None, m=None):
    m = z if m is None else m
    return torch.distributions.kl_divergence(normal(i, c, m), normal(j, d or c, m)).sum()
def wasserstein(i, j, c, d=None, m=None):
    m, d = z if m is None else m, d or c
    s = ((m[i, c] - m[j, d]) ** 2 + ((lv[i, c] / 2).exp() - (lv[j, d] / 2).exp()) ** 2).sum()
    return s.sqrt() if s > 0 else s


def harmonic(a): return 1 / (1 / torch.stack(a)).sum()
def harmonic_square(a): return 1 / (1 / torch.stack(a) ** 2).sum().sqrt()
def any_logexp(a): return -torch.log(1 - (1 - (-torch.stack(a)).exp()).prod())
def tanh(a): return torch.atanh(torch.stack(a).tanh().prod())
def soft(t): return lambda a: -t * ((-torch.stack(a) / t).exp().mean()).log()
def all_logexp(a): return (1 + (torch.stack(a).exp() - 1).sum()).log()
def norm(a): return (torch.stack(a) ** 2).sum().sqrt()
def root(a): return torch.stack(a).sqrt().sum() ** 2
def product(a): return (1 + torch.stack(a)).prod() - 1
def mean_of(a): return torch.stack(a).mean()
def least(a): return torch.stack(a).min()
def largest(a): return torch.stack(a).max()


ALL, SHAPE, BIG, XY = [0, 1, 2, 3], [0, 1], [3, 0, 2], [2]
zero = torch.zeros(())
pairs = [(i, j) for i in ROWS for j in ROWS]
other = [(i, j) for i in ROWS for j in ROWS if i != j]
points = [torch.tensor([0.0, 1.0]), torch.tensor([1.0, 1.0]), torch.tensor([-1.0, 0.5])]

SENTENCES = {
    'exists[harmonic] i, j: i != j and z(i) =[squared] z(j)': lambda: harmonic([squared(z[i], z[j]) for i, j in other]),
    'exists[harmonic] i: z(i) =[absolute] 0.5': lambda: harmonic([absolute(z[i], 0.5 * torch.ones(4)) for i in ROWS]),
    'exists[harmonic-square] i: z."x y"(i) =[squared] 0': lambda: harmonic_square([squared(z[i, XY], zero) for i in ROWS]),
    'forall[mean] i: exists[logexp] c in {[0, 1], [1, 1], [-1, 0.5]}: z.shape(i) =[euclidean] c': lambda: mean_of([any_logexp([euclidean(z[i, SHAPE], p) for p in points]) for i in ROWS]),
    'forall[mean] i: exists[tanh] c in {[0, 1], [1, 1], [-1, 0.5]}: z.shape(i) =[euclidean] c': lambda: mean_of([tanh([euclidean(z[i, SHAPE], p) for p in points]) for i in ROWS]),
    'forall i: exists[soft 0.1] j: i != j and z(i) =[euclidean] z(j)': lambda: largest([soft(0.1)([euclidean(z[i], z[j]) for j in ROWS if i != j]) for i in ROWS]),
    'forall[sum] i: exists[soft 3] v in y.shape: z."x y"(i) =[absolute] v': lambda: sum(soft(3.0)([absolute(z[i, XY], torch.tensor([v])) for v in (0.0, 1.0, 2.0)]) for i in ROWS),
    'exists[soft 1] i, j: z(i) =[squared] z(j)': lambda: soft(1.0)([squared(z[i], z[j]) for i, j in pairs]),
    'forall[logexp] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)': lambda: all_logexp([euclidean(z[i, SHAPE], z[j, SHAPE]) for i, j in pairs if labels[i][0] == labels[j][0]]),
    'forall[norm] i: z.big(i) =[absolute] y(i)': lambda: norm([absolute(z[i, BIG], Y[i]) for i in ROWS]),
    'forall[root] i, j: i != j -> z.shape(i) =[absolute] z.shape(j)': lambda: root([absolute(z[i, SHAPE], z[j, SHAPE]) for i, j in other]),
    'forall[product] i: 0.25 * (z(i) =[squared] 0)': lambda: product([0.25 * squared(z[i], torch.zeros(4)) for i in ROWS]),
    'forall[mean] i, j: i != j -> z(i) =[cosine] z(j)': lambda: mean_of([cosine(z[i], z[j]) for i, j in other]),
    'forall[mean] i: z.shape(i) - [0.5, 0] =[cosine] 2 * z[2:4](i) + [1, 1]': lambda: mean_of([cosine(z[i, SHAPE] - torch.tensor([0.5, 0]), 2 * z[i, [2, 3]] + 1) for i in ROWS]),
    'forall[mean] i: z(i) =[cosine] 1': lambda: mean_of([cosine(z[i], torch.ones(4)) for i in ROWS]),
    'forall[mean] i, j: y.hue(i) = y.hue(j) -> z(i) =[kl] z(j)': lambda: mean_of([kl(i, j, ALL) for i, j in pairs if labels[i][2] == labels[j][2]]),
    'forall i, j: z.big(i) =[kl] z[1:4](j)': lambda: largest([kl(i, j, BIG, [1, 2, 3]) for i, j in pairs]),
    'forall[mean-square] i, j: i != j -> z."x y"(i) =[kl] z."x y"(j)': lambda: mean_of([kl(i, j, XY) ** 2 for i, j in other]),
    'forall[mean] i, j: i != j -> z(i) =[wasserstein] z(j)': lambda: mean_of([wasserstein(i, j, ALL) for i, j in other]),
    'exists[harmonic] i, j: i != j and z.shape(i) =[wasserstein] z.shape(j)': lambda: harmonic([wasserstein(i, j, SHAPE) for i, j in other]),
    'forall[mean] i, j: y.shape(i) = y.shape(j) -> (z.shape(i) =[wasserstein] z.shape(j) or 0.5 * (z(i) =[kl] z(j)))': lambda: mean_of([torch.minimum(wasserstein(i, j, SHAPE), 0.5 * kl(i, j, ALL)) for i, j in pairs if labels[i][0] == labels[j][0]]),
    'with -> = strict: forall[mean] i, j: y.shape(i) =[discrete] y.shape(j) -> z.shape(i) =[squared] z.shape(j)': lambda: mean_of([squared(z[i, SHAPE], z[j, SHAPE]) if labels[i][0] == labels[j][0] else zero for i, j in pairs]),
    'with -> = strict, not = strict: forall[sum] i, j: not (y(i) =[absolute] y(j) and y.hue(j) =[squared] 0.5) -> z(i) =[squared] z(j)': lambda: sum(squared(z[i], z[j]) for i, j in pairs if (Y[i] != Y[j]).any() or labels[j][2] != 1),
    'with not = strict: forall[mean] i: z(i) =[squared] 0 and not y.shape(i) =[discrete] 1': lambda: mean_of([squared(z[i], torch.zeros(4)) + (1.0 if labels[i][0] == 1 else 0.0) for i in ROWS]),
    'with z ~ q: forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)': lambda: mean_of([squared(z[i, SHAPE], z[j, SHAPE]) for i, j in pairs if labels[i][0] == labels[j][0]]),
    'with z ~ q, and = max: forall[mean] i, j: i != j -> z(i) =[euclidean] z(j) and z(i) =[wasserstein] z(j)': lambda: mean_of([torch.maximum(euclidean(z[i], z[j]), wasserstein(i, j, ALL, m=mean)) for i, j in other]),
    'with z ~ q, or = tanh: forall[mean] i, j: i != j -> 0.1 * (z(i) =[squared] z(j)) or 0.1 * (z(i) =[kl] z(j))': lambda: mean_of([torch.atanh((0.1 * squared(z[i], z[j])).tanh() * (0.1 * kl(i, j, ALL, m=mean)).tanh()) for i, j in other]),
}

out = []
for text, quantity in SENTENCES.items():
    for t in (z, mean, lv):
        t.grad = None
    q = quantity()
    q.backward()
    out.append({'text': text, 'value': q.item(), **{name: t.grad.tolist() if t.grad is not None else None for name, t in (('z', z), ('means', mean), ('log_variances', lv))}})
print(json.dumps({'z': z.tolist(), 'means': mean.tolist(), 'log_variances': lv.tolist(), 'y': y, 'labels': labels, 'sentences': out}))
