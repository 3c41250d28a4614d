# Makes moves.json: quantities of sentences about moves and their gradients in the codes, in double precision by automatic
# differentiation (PyTorch 1.13), pair by pair; rotations in space are matrix exponentials. Independent of this module.
import json, math
import torch
torch.manual_seed(5)
torch.set_default_dtype(torch.float64)

n, d = 12, 9
z = torch.randn(n, d)
hue = torch.tensor([0, 1, 3, 3, 6, 7, 0, 2, 2, 5, 5, 1.]) / 8 * 2 * math.pi
row = torch.rand(n) * 7 - 3
axis = torch.randn(n, 3) * 2
axis[3] = 0  # no rotation
turn = torch.rand(n) * 6
turn[4] = 0
groups = [0, 0, 0, 1, 1, -1, 2, 2, 2, 2, 0, 1]
y = torch.stack([hue / (2 * math.pi), torch.rand(n)], 1)
unknown = [10]  # rows whose rotation is not known

def plane(a):
    return torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])

def space(k, a):
    if k.norm() == 0:
        return torch.eye(3)
    k = k / k.norm()
    return torch.matrix_exp(torch.tensor([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]]) * a)

def G(kind, i, j, w=1):
    if kind == "hue": return plane(w * (hue[j] - hue[i]))
    if kind == "row": return plane(w * (row[j] - row[i]))
    return space(axis[j], turn[j]) @ space(axis[i], turn[i]).T

def pairs(rotations, group=groups):
    return [(i, j) for i in range(n) for j in range(n)
            if group[i] >= 0 and group[i] == group[j] and not (rotations and (i in unknown or j in unknown))]

def mean(xs): return sum(xs) / len(xs)

def whole(i, j, x):  # hue turns columns 0 1, row columns 2 3 (in the order 3 2), pose 4 5 6
    return torch.cat([G("hue", i, j) @ x[:2], (G("row", i, j) @ x[[3, 2]])[[1, 0]], G("pose", i, j) @ x[4:7], x[7:]])

cases = {
    "forall[mean] i, j, g(i, j): z.hue(j) =[squared] act(g, z.hue(i))":
        lambda z: mean([((z[j, :2] - G("hue", i, j) @ z[i, :2]) ** 2).sum() for i, j in pairs(False)]),
    "forall[mean] i, j, g(i, j): z(j) =[euclidean] act(g, z(i))":
        lambda z: mean([torch.sqrt(((z[j] - whole(i, j, z[i])) ** 2).sum()) if i != j else 0 for i, j in pairs(True)]),
    "forall i, j, g(i, j): z.pose(j) =[absolute] act(g, z.pose(i))":
        lambda z: max([(z[j, 4:7] - G("pose", i, j) @ z[i, 4:7]).abs().sum() for i, j in pairs(True)]),
    "forall[sum] i, j, g(i, j): z[7:9](j) =[squared] act[2](g.row, z[7:9](i))":
        lambda z: sum([((z[j, 7:] - G("row", i, j, 2) @ z[i, 7:]) ** 2).sum() for i, j in pairs(False)]),
    "forall[mean] i, j, g(j, i): i != j -> z[4:7](j) - 1 =[squared] act(g.pose, 2 * z[1:4](i) - z.pose(j) + 1)":
        lambda z: mean([((z[j, 4:7] - 1 - G("pose", j, i) @ (2 * z[i, 1:4] - z[j, 4:7] + 1)) ** 2).sum() for i, j in pairs(True) if i != j]),
    "forall[mean] i, j, k, g(i, j), h(j, k): z.hue(k) =[squared] act(h, act(g, z.hue(i)))":
        lambda z: mean([((z[k, :2] - G("hue", j, k) @ (G("hue", i, j) @ z[i, :2])) ** 2).sum() for i, j in pairs(False) for k in range(n) if (j, k) in pairs(False)]),
    "forall[mean] i, j, g(i, j): exists k: z.hue(j) =[squared] act(g, z.hue(k)) and z[8](k) =[absolute] 0":
        lambda z: mean([min(((z[j, :2] - G("hue", i, j) @ z[k, :2]) ** 2).sum() + z[k, 8].abs() for k in range(n)) for i, j in pairs(False)]),
    "forall[mean-square] i, j, g(i, j): z[0](i) + y.hue(j) =[circular] z[0](j) + act(g, y.hue(i))":
        lambda z: mean([(lambda a: torch.minimum(a % 1, 1 - a % 1) ** 2)((z[i, 0] + y[j, 0] - z[j, 0] - y[i, 0] - (hue[j] - hue[i]) / (2 * math.pi)).abs()) for i, j in pairs(False)]),
    "forall[mean] i, j, g(i, j): y.hue(i) = y.hue(j) -> z.row(j) =[euclidean] act[-1](g, z.row(i))":
        lambda z: mean([torch.sqrt(((z[j, [3, 2]] - G("row", i, j, -1) @ z[i, [3, 2]]) ** 2).sum()) if i != j else 0 for i, j in pairs(False) if hue[i] == hue[j]]),
}
out = {"z": z.tolist(), "y": y.tolist(), "labels": [[round(h / (2 * math.pi) * 8) % 8, k] for k, h in enumerate(hue.tolist())], "groups": groups,
       "moves": [[float(hue[i]), float(row[i]), *([None] * 4 if i in unknown else [*axis[i].tolist(), float(turn[i])])] for i in range(n)], "sentences": []}
for text, f in cases.items():
    x = z.clone().requires_grad_(True)
    v = f(x)
    v.backward()
    out["sentences"].append({"text": text, "value": v.item(), "gradient": x.grad.tolist()})
    print(v.item(), text)
json.dump(out, open("moves.json", "w"))
