"""COFHAE on chopsticks of variant both and depth 2, in PyTorch: held-out codes and factors of some restarts, for r4c.

python3 tools/peer/cofhae.py --penalty none --restarts 5 --out DIR      # H+A
python3 tools/peer/cofhae.py --penalty marginal --restarts 5 --out DIR  # H+A+TC(Z)
python3 tools/peer/cofhae.py --penalty active --restarts 5 --out DIR    # H+A+TC(Z|on)

The true hierarchy is two continuous dimensions and a categorical one, whose second option has two more. Network, losses and steps are those of
cofhae/chopsticks: softplus layers of 256 units, 100 times the squared error, 1000 times that of the assignments, and a discriminator with leaky ReLU
that tells codes from codes whose columns are permuted over the batch, or over the rows where they are active.
"""
import json
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from chopsticks import chopsticks, dense, hierarchy, options, rate


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = dense([64, 256, 256, 6], nn.Softplus), dense([6, 256, 256, 64], nn.Softplus)

    def encode(self, x):
        """Assignments [n, 2] and masked values [n, 4]."""
        h = self.encoder(x)
        a = h[:, :2].softmax(1)
        return a, torch.cat([h[:, 2:4], h[:, 4:] * a[:, 1:]], 1), h

    def hard(self, x):
        """Codes as unravel eval reads them, 1 + option before the values, 0 where inactive."""
        a, _, h = self.encode(x)
        on = a.argmax(1, keepdim=True).float()
        return torch.cat([1 + on, h[:, 2:4], h[:, 4:] * on], 1)


def permuted(z, active):
    """Each column in another order of the rows where it is active."""
    z = z.clone()
    for j in range(z.shape[1]):
        rows = active[:, j].nonzero()[:, 0]
        z[rows, j] = z[rows[torch.randperm(len(rows))], j]
    return z


def train(seed, p):
    torch.manual_seed(seed)
    x, types, values = chopsticks(p.samples, "both", 2, torch.Generator().manual_seed(seed))
    factors = torch.cat([1.0 + types[:, 1:], values], 1)
    n = p.samples * 9 // 10
    truth = F.one_hot(types[:, 1], 2).float()
    model, critic = Autoencoder(), dense([4, *[p.units] * 3, 1], lambda: nn.LeakyReLU(0.2))
    adam, critic_adam = (torch.optim.Adam(m.parameters(), eps=1e-7) for m in (model, critic))
    steps = p.epochs * -(-n // p.batch)
    step = 0
    for _ in range(p.epochs):
        for rows in torch.randperm(n).split(p.batch):
            for optimizer in (adam, critic_adam):
                optimizer.param_groups[0]["lr"] = rate(step, steps)
            a, z, _ = model.encode(x[rows])
            loss = 100 * (model.decoder(torch.cat([a, z], 1)) - x[rows]).square().sum(1).mean()
            loss = loss + 1000 * (a - truth[rows]).square().sum(1).mean()
            if p.penalty != "none":
                active = torch.ones_like(z, dtype=torch.bool)
                if p.penalty == "active":
                    active[:, 2:] = a.argmax(1, keepdim=True) == 1
                other = permuted(z.detach(), active)
                loss = loss + p.weight * critic(z).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
            if p.penalty != "none":
                with torch.no_grad():
                    _, z, _ = model.encode(x[rows])
                real, false = critic(z), critic(other)
                critic_adam.zero_grad()
                ((F.softplus(-real) + F.softplus(false)).mean() / 2).backward()
                critic_adam.step()
            step += 1
    with torch.no_grad():
        return model.hard(x[n:]).numpy(), factors[n:].numpy(), loss.item()


def main():
    p = options(samples=50000)
    p.add_argument("--penalty", choices=["none", "marginal", "active"], required=True)
    p.add_argument("--weight", type=float, default=1)
    p.add_argument("--units", type=int, default=256, help="of a layer of the discriminator")
    p = p.parse_args()
    torch.set_num_threads(p.threads)
    p.out.mkdir(parents=True, exist_ok=True)
    (p.out / "hierarchy.json").write_text(json.dumps(hierarchy("both", 2)))
    for seed in range(p.first, p.first + p.restarts):
        begin = time.time()
        codes, factors, loss = train(seed, p)
        np.save(p.out / f"codes{seed}.npy", codes)
        np.save(p.out / f"factors{seed}.npy", factors)
        print(f"seed {seed}: loss {loss:.4f} of the last step, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
