# Reference values and gradients of the loss separation, by automatic differentiation in float64.
import json, torch
torch.manual_seed(19)
def of(agg, margin, z, diff, blocks):
    total = torch.zeros((), dtype=torch.float64)
    for factor, columns in blocks:
        seen, hs = set(), []
        for r in range(len(diff)):
            o = int(diff[r][factor])
            if o < 0 or o == r or (min(r, o), max(r, o)) in seen:
                continue
            seen.add((min(r, o), max(r, o)))
            hs.append(torch.clamp(margin - (z[r, columns] - z[o, columns]).norm(), min=0))
        if hs:
            h = torch.stack(hs)
            total = total + {"mean": h.mean, "max": h.max, "sum": h.sum, "mean-square": lambda: (h*h).mean()}[agg]()
    return total
cases = []
diff = [[3, 1], [5, 0], [-1, 4], [0, -1], [-1, 2], [1, 6], [-1, 5], [-1, -1]]
for agg in ["mean", "max", "sum", "mean-square"]:
    for margin in [0.5, 2.0]:
        for blocks in [[[0, [0, 1]], [1, [2, 3]]], [[1, [3, 0, 2]]]]:
            z = (0.25*torch.randn(8, 4, dtype=torch.float64)).requires_grad_()
            v = of(agg, margin, z, diff, blocks)
            v.backward() if v.requires_grad else None
            cases.append(dict(aggregate=agg, margin=margin, blocks=blocks, z=z.detach().flatten().tolist(), value=v.item(), gradient=(z.grad if z.grad is not None else torch.zeros_like(z)).flatten().tolist()))
print(json.dumps(dict(different=sum(diff, []), cases=cases), indent=1))
