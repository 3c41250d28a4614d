# Makes independence.json: dependences of sub-codes and their gradients in the codes, in double precision by automatic differentiation
# (PyTorch 1.13), with matrices of kernels and determinants of covariances. Independent of this module.
import itertools, json
import torch
torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
n, d = 20, 6
z = torch.randn(n, d)
z[:, 3] += 0.5 * z[:, 0]
z[:, 5] -= 0.8 * z[:, 1] ** 2

def kernel(x):
    pairs = list(itertools.combinations(range(n), 2))
    squares = torch.stack([((x[i] - x[j]) ** 2).sum() for i, j in pairs])
    s2 = squares.sort().values[(len(pairs) - 1) // 2]
    k = torch.eye(n)
    for (i, j), q in zip(pairs, squares):
        e = torch.zeros(n, n)
        e[i, j] = e[j, i] = 1
        k = k + e * torch.exp(-q / (2 * s2))
    return k

def hsic(x, y):
    h = torch.eye(n) - torch.ones(n, n) / n
    return torch.trace(kernel(x) @ h @ kernel(y) @ h) / n ** 2

def tc(x, blocks):
    c = torch.cov(x.T, correction=0)
    whole = sum(blocks, [])
    det = lambda b: torch.logdet(c[b][:, b])
    return 0.5 * (sum(det(b) for b in blocks) - det(whole))

a, b, c = [0, 1], [3], [5, 2]
relu = torch.nn.functional.relu
cases = {
    "independent(z.a, z.b)": lambda z: hsic(z[:, a], z[:, b]),
    "independent(z.a, z.b, z.c)": lambda z: hsic(z[:, a], z[:, b + c]) + hsic(z[:, b], z[:, c]),
    "independent[tc](z.a, z.b, z.c)": lambda z: tc(z, [a, b, c]),
    "independent(z[0:3], z[3:6]) -> independent[tc](z[0:3], z[3:6])": lambda z: relu(tc(z, [[0, 1, 2], [3, 4, 5]]) - hsic(z[:, :3], z[:, 3:])),
    "10 * independent(z.a, z.b) and 0.5 * independent[tc](z.a, z.b) and (forall[mean] i: z.b(i) =[squared] 0)":
        lambda z: 10 * hsic(z[:, a], z[:, b]) + 0.5 * tc(z, [a, b]) + (z[:, 3] ** 2).mean(),
    "forall[mean] i: z.b(i) =[absolute] 0 or 20 * independent(z.a, z.c)":
        lambda z: torch.minimum(z[:, 3].abs(), 20 * hsic(z[:, a], z[:, c])).mean(),
}
out = {"z": z.tolist(), "sentences": []}
for text, f in cases.items():
    x = z.clone().requires_grad_(True)
    v = f(x)
    v.backward()
    out["sentences"].append({"text": text, "value": v.item(), "gradient": x.grad.tolist()})
    print(v.item(), text)

# The blockwise total correlation of Gaussian posteriors, by minibatch weighted sampling of a data set of size N.
N = 500
mean, logvar = z, torch.randn(n, d) - 1
sample = mean + torch.exp(logvar / 2) * torch.randn(n, d)
leaves = [t.clone().requires_grad_(True) for t in (sample, mean, logvar)]
s, m, v = leaves
logq = -0.5 * (torch.log(torch.tensor(2 * torch.pi)) + v + (s[:, None] - m) ** 2 / v.exp())  # [j, i, d]
def density(columns): return torch.logsumexp(logq[:, :, columns].sum(2), 1) - torch.log(torch.tensor(float(n * N)))
value = (density(a + b + c) - density(a) - density(b) - density(c)).mean()
value.backward()
print(value.item())
out["posteriors"] = {"sample": sample.tolist(), "logvariance": logvar.tolist(), "size": N, "value": value.item(), "gradients": [t.grad.tolist() for t in leaves]}
json.dump(out, open("independence.json", "w"))
