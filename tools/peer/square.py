"""VAEs on Square, as the rows of lsbd-vae-table5, in PyTorch: codes.npy and factors.npy of some restarts.

python3 tools/peer/square.py --kl 1 --restarts 5 --out DIR
python3 tools/peer/square.py --kl 1000 --capacity 15 --ramp 150 --restarts 5 --out DIR

Data, network, likelihood, initial weights (Glorot), Adam and steps are those of vae/square-paper at the medium scale: 4096 images of a white square of
16 x 16 pixels in 64 x 64, wrapped around; four columns; 64 images a step, without replacement in an epoch.
"""
import argparse
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def squares(size, side):
    """Images [size^2, 1, size, size] and factors (row, column)."""
    row, column = np.divmod(np.arange(size * size), size)
    i = np.arange(size)
    down = (i[None, :] - row[:, None]) % size < side
    right = (i[None, :] - column[:, None]) % size < side
    images = down[:, None, :, None] & right[:, None, None, :]
    return torch.from_numpy(images.astype(np.float32)), np.stack([row, column], 1)


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        relu = nn.ReLU
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 32, 4, 2, 1), relu(), nn.Conv2d(32, 32, 4, 2, 1), relu(),
            nn.Conv2d(32, 64, 4, 2, 1), relu(), nn.Conv2d(64, 64, 4, 2, 1), relu(),
            nn.Flatten(), nn.Linear(1024, 256), relu(), nn.Linear(256, 2 * latent))
        self.decoder = nn.Sequential(
            nn.Linear(latent, 256), relu(), nn.Linear(256, 1024), relu(), nn.Unflatten(1, (64, 4, 4)),
            nn.ConvTranspose2d(64, 64, 4, 2, 1), relu(), nn.ConvTranspose2d(64, 32, 4, 2, 1), relu(),
            nn.ConvTranspose2d(32, 32, 4, 2, 1), relu(), nn.ConvTranspose2d(32, 1, 4, 2, 1))
        for m in self.modules():
            if hasattr(m, "weight"):
                nn.init.xavier_uniform_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, 1)
        z = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        reconstruction = F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="sum") / len(x)
        kl = (mean**2 + log_variance.exp() - log_variance - 1).sum() / 2 / len(x)
        return reconstruction, kl


def train(images, seed, a):
    torch.manual_seed(seed)
    model = VAE(a.latent)
    adam = torch.optim.Adam(model.parameters(), a.lr, eps=1e-7)
    step = 0
    while step < a.steps:
        for rows in torch.randperm(len(images)).split(a.batch)[:a.steps - step]:
            reconstruction, kl = model(images[rows])
            target = a.capacity * min(1, step / max(a.ramp, 1)) if a.capacity else 0
            divergence = (kl - target).abs() if a.capacity else kl
            adam.zero_grad()
            (reconstruction + a.kl * divergence).backward()
            adam.step()
            step += 1
    with torch.no_grad():
        codes = torch.cat([model.encoder(x)[:, :a.latent] for x in images.split(256)])
    return codes.numpy(), reconstruction.item(), kl.item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kl", type=float, default=1, help="weight of the divergence")
    p.add_argument("--capacity", type=float, default=0, help="nats at which the divergence is held; 0: none")
    p.add_argument("--ramp", type=int, default=150, help="steps in which the capacity rises")
    p.add_argument("--steps", type=int, default=1280)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--latent", type=int, default=4)
    p.add_argument("--side", type=int, default=16)
    p.add_argument("--restarts", type=int, default=5)
    p.add_argument("--first", type=int, default=0, help="first seed")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--out", type=pathlib.Path, required=True)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    images, factors = squares(64, a.side)
    a.out.mkdir(parents=True, exist_ok=True)
    np.save(a.out / "factors.npy", factors)
    for seed in range(a.first, a.first + a.restarts):
        begin = time.time()
        codes, reconstruction, kl = train(images, seed, a)
        np.save(a.out / f"codes{seed}.npy", codes)
        print(f"seed {seed}: reconstruction {reconstruction:.1f}, divergence {kl:.2f} of the last step, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
