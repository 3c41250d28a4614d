"""Plain autoencoders of chopsticks, in PyTorch: codes and factors of some restarts, for unravel mimosa.

python3 tools/peer/chopsticks.py --variant both --depth 3 --latent 7 --restarts 5 --out DIR

Network, loss and steps are those of ae/chopsticks: softplus layers of 256 units, 100 times the squared error, 50 epochs of 90,000 lines.
"""
import argparse
import json
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn


def chopsticks(n, variant, depth, generator):
    """Lines [n, 64], types [n, depth] (0: the line has ended) and values [n, columns of a level x depth]."""
    ramp = torch.arange(64.0)
    x, there = torch.zeros(n, 64), torch.ones(n, dtype=torch.bool)
    types, values = [], []
    for level in range(depth):
        if level > 0:
            there = there & (torch.rand(n, generator=generator) >= 2.0 ** -(depth - level))
        inter, slope = ((2 * torch.rand(n, generator=generator) - 1) * s * there for s in (0.2, 0.01))
        kind = torch.ones(n, dtype=torch.long)
        if variant == "either":
            kind = torch.randint(1, 3, (n,), generator=generator)
            inter, slope = inter * (kind == 1), slope * (kind == 2)
        types.append(kind * there)
        begin = 64 - 64 // 2**level
        late = (ramp >= begin).float()
        if variant != "slope":
            x += inter[:, None] * late
            values.append(inter)
        if variant != "inter":
            x += slope[:, None] * late * (ramp - begin)
            values.append(slope)
    return x, torch.stack(types, 1), torch.stack(values, 1)


def hierarchy(variant, depth):
    """The true hierarchy, as unravel mimosa --truth reads it."""
    one = {"type": "continuous"}
    if variant == "either":
        def branch(levels):
            return [one] if levels == 1 else [one, {"type": "categorical", "options": [[], branch(levels - 1), branch(levels - 1)]}]
        return [{"type": "categorical", "options": [branch(depth), branch(depth)]}]
    own = [one, one] if variant == "both" else [one]
    return own if depth == 1 else own + [{"type": "categorical", "options": [[], hierarchy(variant, depth - 1)]}]


def dense(sizes, activation):
    """Dense layers with Glorot's initial weights; none after the last."""
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), activation()]
    net = nn.Sequential(*layers[:-1])
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            nn.init.zeros_(m.bias)
    return net


def rate(step, steps):
    """1e-3, a tenth of it from half of the steps on, and a hundredth in the last quarter."""
    return 1e-3 * 0.1 ** ((step >= steps // 2) + (step >= steps * 3 // 4))


def train(seed, p):
    torch.manual_seed(seed)
    x, types, _ = chopsticks(p.samples, p.variant, p.depth, torch.Generator().manual_seed(seed))
    n = p.samples * 9 // 10
    encoder, decoder = dense([64, 256, 256, p.latent], nn.Softplus), dense([p.latent, 256, 256, 64], nn.Softplus)
    adam = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], eps=1e-7)
    steps, step = p.epochs * -(-n // p.batch), 0
    for _ in range(p.epochs):
        for rows in torch.randperm(n).split(p.batch):
            adam.param_groups[0]["lr"] = rate(step, steps)
            error = (decoder(encoder(x[rows])) - x[rows]).square().sum(1).mean()
            adam.zero_grad()
            (100 * error).backward()
            adam.step()
            step += 1
    with torch.no_grad():
        return encoder(x[:n]).numpy(), types[:n].numpy(), error.item()


def options(samples):
    """The options of a program that trains some restarts."""
    p = argparse.ArgumentParser()
    p.add_argument("--samples", type=int, default=samples)
    p.add_argument("--epochs", type=int, default=50)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--restarts", type=int, default=5)
    p.add_argument("--first", type=int, default=0, help="first seed")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--out", type=pathlib.Path, required=True)
    return p


def main():
    p = options(samples=100000)
    p.add_argument("--variant", choices=["inter", "slope", "both", "either"], default="both")
    p.add_argument("--depth", type=int, default=3)
    p.add_argument("--latent", type=int, default=7)
    p = p.parse_args()
    torch.set_num_threads(p.threads)
    p.out.mkdir(parents=True, exist_ok=True)
    (p.out / "truth.json").write_text(json.dumps(hierarchy(p.variant, p.depth)))
    for seed in range(p.first, p.first + p.restarts):
        begin = time.time()
        codes, types, error = train(seed, p)
        np.save(p.out / f"codes{seed}.npy", codes)
        np.save(p.out / f"factors{seed}.npy", types)
        print(f"seed {seed}: squared error {error:.2e} of the last step, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
