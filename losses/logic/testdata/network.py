# Makes network.json: the minima, over the parameters of networks of 4 tanh units, of quantities of sentences, from 40 starts each, by SciPy's BFGS
# with gradients by automatic differentiation (PyTorch 1.13), in double precision. Independent of this module.
import json
import numpy as np
import torch
from scipy.optimize import minimize
torch.manual_seed(11)
torch.set_default_dtype(torch.float64)
n = 40
z = torch.randn(n, 3)
y = torch.stack([torch.sin(1.5 * z[:, 0]) + 0.1 * torch.randn(n), z[:, 0] * z[:, 1] + 0.2 * torch.randn(n)], 1)

def mlp(w, x, out, hidden=4):
    k = x.shape[1]
    a, b = w[:k * hidden].reshape(k, hidden), w[k * hidden:(k + 1) * hidden]
    c, d = w[(k + 1) * hidden:(k + 1 + out) * hidden].reshape(hidden, out), w[(k + 1 + out) * hidden:]
    return torch.tanh(x @ a + b) @ c + d

cases = {
    "exists h: z -> y in mlp {layers: [4]}: forall[mean] i: h(z(i)) =[squared] y(i)":
        (4 * 4 + 5 * 2, lambda w: ((mlp(w, z, 2) - y) ** 2).sum(1).mean()),
    "exists h: y -> z[1:3] in mlp {layers: [4]}: forall[mean-square] i: 2 * h(y(i)) =[euclidean] z[1:3](i)":
        (3 * 4 + 5 * 2, lambda w: ((2 * mlp(w, y, 2) - z[:, 1:]) ** 2).sum(1).mean()),
    "3 * (exists h: z[0:2] -> y.b in mlp {layers: [4]}: (forall[mean] i: h(z[0:2](i)) =[squared] y.b(i)) and 0.1 * (forall[mean] i, j: h(z[0:2](i)) =[squared] h(z[0:2](j)))) and (forall[mean] i: z[0](i) =[squared] 0)":
        (3 * 4 + 5, lambda w: 3 * (((mlp(w, z[:, :2], 1) - y[:, 1:]) ** 2).mean() + 0.2 * mlp(w, z[:, :2], 1).var(unbiased=False)) + (z[:, 0] ** 2).mean()),
}
out = {"z": z.tolist(), "y": y.tolist(), "sentences": []}
for text, (count, f) in cases.items():
    minima = []
    for start in range(40):
        def both(w):
            w = torch.tensor(w, requires_grad=True)
            v = f(w)
            v.backward()
            return v.item(), w.grad.numpy()
        r = minimize(both, np.random.RandomState(start).randn(count) * 0.7, jac=True, method="BFGS", options={"maxiter": 20000, "gtol": 1e-7})
        minima.append(r.fun)
    minima.sort()
    out["sentences"].append({"text": text, "minima": minima})
    print(minima[0], minima[20], minima[-1], text)
json.dump(out, open("network.json", "w"))
