"""Writes optimizers.json: trajectories of optimisers, in double precision.

Two tensors, w [3, 4] and b [5], take ten steps with given gradients. SGD, RMSprop and AdamW are PyTorch's; LARS and LAMB
are written down here from their papers. Run with: python3 optimizers.py > optimizers.json
"""
import json

import numpy as np
import torch

r = np.random.RandomState(16)
STEPS = 10
start = {"w": r.randn(3, 4), "b": r.randn(5)}
gradients = [{"w": r.randn(3, 4) * 10 ** r.uniform(-2, 1), "b": r.randn(5)} for _ in range(STEPS)]
gradients[4]["w"][:] = 0  # a norm of 0


def pytorch(make, scale):
    p = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in start.items()}
    o = make(list(p.values()))
    rate = o.param_groups[0]["lr"]
    for step, g in enumerate(gradients):
        o.param_groups[0]["lr"] = rate * scale[step]
        for k in p:
            p[k].grad = torch.tensor(g[k])
        o.step()
    return {k: v.detach().numpy() for k, v in p.items()}


def lars(lr, momentum, trust, decay, exclude, scale):
    """You et al. 2017, algorithm 1, with the rate outside of the velocity (deepmind-research, byol/utils/optimizers.py)."""
    p = {k: v.copy() for k, v in start.items()}
    v = {k: np.zeros_like(x) for k, x in p.items()}
    for step, grads in enumerate(gradients):
        for k in p:
            g, skip = grads[k], exclude and p[k].ndim == 1
            if not skip:
                g = g + decay * p[k]
                a, b = np.linalg.norm(p[k]), np.linalg.norm(g)
                if a > 0 and b > 0:
                    g = trust * a / b * g
            v[k] = momentum * v[k] + g
            p[k] = p[k] - lr * scale[step] * v[k]
    return p


def lamb(lr, beta1, beta2, epsilon, decay, exclude, scale):
    """You et al. 2020, algorithm 2, with the identity for phi."""
    p = {k: v.copy() for k, v in start.items()}
    m = {k: np.zeros_like(x) for k, x in p.items()}
    v = {k: np.zeros_like(x) for k, x in p.items()}
    for step, grads in enumerate(gradients):
        t = step + 1
        for k in p:
            g, skip = grads[k], exclude and p[k].ndim == 1
            m[k] = beta1 * m[k] + (1 - beta1) * g
            v[k] = beta2 * v[k] + (1 - beta2) * g ** 2
            u = m[k] / (1 - beta1 ** t) / (np.sqrt(v[k] / (1 - beta2 ** t)) + epsilon)
            if not skip:
                u = u + decay * p[k]
                a, b = np.linalg.norm(p[k]), np.linalg.norm(u)
                if a > 0 and b > 0:
                    u = a / b * u
            p[k] = p[k] - lr * scale[step] * u
    return p


ones, falling = [1.0] * STEPS, [1 - 0.05 * i for i in range(STEPS)]
SGD, RMS, ADAMW = torch.optim.SGD, torch.optim.RMSprop, torch.optim.AdamW
cases = []


def case(settings, scale, end):
    cases.append({"settings": settings, "scale": scale, "w": end["w"].ravel().tolist(), "b": end["b"].tolist()})


def of(cls, **k):
    return lambda params: cls(params, **k)


case("sgd: {lr: 0.05, momentum: 0}", ones, pytorch(of(SGD, lr=0.05), ones))
case("sgd: {lr: 0.05, momentum: 0, decay: 0.1}", falling, pytorch(of(SGD, lr=0.05, weight_decay=0.1), falling))
case("sgd: {lr: 0.01, momentum: 0.9}", falling, pytorch(of(SGD, lr=0.01, momentum=0.9), falling))
case("sgd: {lr: 0.01, momentum: 0.8, dampening: 0.3, decay: 0.1}", falling,
     pytorch(of(SGD, lr=0.01, momentum=0.8, dampening=0.3, weight_decay=0.1), falling))
case("sgd: {lr: 0.01, momentum: 0.9, nesterov: true, decay: 0.2}", falling,
     pytorch(of(SGD, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.2), falling))
case("rmsprop: {}", ones, pytorch(of(RMS), ones))
case("rmsprop: {lr: 0.02, alpha: 0.9, epsilon: 1.0e-3, decay: 0.1}", falling,
     pytorch(of(RMS, lr=0.02, alpha=0.9, eps=1e-3, weight_decay=0.1), falling))
case("rmsprop: {alpha: 0.95, momentum: 0.7}", falling, pytorch(of(RMS, alpha=0.95, momentum=0.7), falling))
case("rmsprop: {alpha: 0.8, centred: true, epsilon: 1.0e-3}", falling, pytorch(of(RMS, alpha=0.8, centered=True, eps=1e-3), falling))
case("rmsprop: {alpha: 0.8, centred: true, epsilon: 1.0e-3, momentum: 0.5, decay: 0.3}", ones,
     pytorch(of(RMS, alpha=0.8, centered=True, eps=1e-3, momentum=0.5, weight_decay=0.3), ones))
case("adamw: {}", ones, pytorch(of(ADAMW), ones))
case("adamw: {lr: 0.03, beta1: 0.8, beta2: 0.95, epsilon: 1.0e-4, decay: 0.4}", falling,
     pytorch(of(ADAMW, lr=0.03, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.4), falling))
case("lars: {}", ones, lars(0.2, 0.9, 1e-3, 1.5e-6, True, ones))
case("lars: {lr: 0.5, momentum: 0.6, trust: 0.02, decay: 0.3}", falling, lars(0.5, 0.6, 0.02, 0.3, True, falling))
case("lars: {lr: 0.5, trust: 0.02, decay: 0.3, exclude: none}", falling, lars(0.5, 0.9, 0.02, 0.3, False, falling))
case("lars: {momentum: 0, trust: 0.02, decay: 0}", ones, lars(0.2, 0, 0.02, 0, True, ones))
case("lamb: {}", ones, lamb(1e-3, 0.9, 0.999, 1e-6, 0.01, True, ones))
case("lamb: {lr: 0.05, beta1: 0.7, beta2: 0.9, epsilon: 1.0e-3, decay: 0.5}", falling, lamb(0.05, 0.7, 0.9, 1e-3, 0.5, True, falling))
case("lamb: {lr: 0.05, exclude: none}", falling, lamb(0.05, 0.9, 0.999, 1e-6, 0.01, False, falling))

print(json.dumps({
    "start": {k: v.ravel().tolist() for k, v in start.items()},
    "gradients": [{k: v.ravel().tolist() for k, v in g.items()} for g in gradients],
    "cases": cases,
}, indent=1))
