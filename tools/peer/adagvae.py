"""Times a training step of Ada-GVAE with 64 pairs of 64 x 64 images in PyTorch on the CPU, and one of a VAE with 128
images, in turns; one JSON line.

  python3 adagvae.py --threads 1 --seconds 20

The networks are conv64 and its mirror image with ten latent dimensions, the loss a Bernoulli likelihood and the
divergence, the optimiser Adam. The layout is channels last, freed memory is kept, denormals are flushed; transposed
convolutions are PyTorch's own. Compare in turns with
go test ./train/engine -run XXX -bench 'TrainStep/(vae/channels=1/batch=128|ada)'.
"""
import argparse
import ctypes
import json
import os
import statistics
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--threads", type=int, default=1)
p.add_argument("--pairs", type=int, default=64)
p.add_argument("--seconds", type=float, default=20)
args = p.parse_args()

# Before torch is loaded, which reads these.
os.environ["OMP_NUM_THREADS"] = str(args.threads)
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
libc = ctypes.CDLL("libc.so.6")
for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: no page faults in every step
    libc.mallopt(option, 2**31 - 1)

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
LATENT = 10


class Pairs(nn.Module):
    """A VAE whose posteriors share dimensions within a pair, or a plain one."""

    def __init__(self, share):
        super().__init__()
        self.share = share
        widths = [1, 32, 32, 64, 64]
        down = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Conv2d(a, b, 4, 2, 1), nn.ReLU())]
        self.encoder = nn.Sequential(*down, nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 2 * LATENT))
        up = [layer for a, b in zip(widths[::-1], widths[-2::-1]) for layer in (nn.ConvTranspose2d(a, b, 4, 2, 1), nn.ReLU())]
        self.dense = nn.Sequential(nn.Linear(LATENT, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU())
        self.decoder = nn.Sequential(*up[:-1])

    def aggregated(self, mean, log_variance):
        m, v = mean.view(-1, 2, LATENT), log_variance.view(-1, 2, LATENT)
        with torch.no_grad():
            delta = torch.exp(v[:, 0] - v[:, 1]) + (m[:, 1] - m[:, 0])**2 * torch.exp(-v[:, 1]) - 1 + v[:, 1] - v[:, 0]
            low, high = delta.amin(1, keepdim=True), delta.amax(1, keepdim=True)
            private = ((delta >= (low + high) / 2) & (high > low)).unsqueeze(1)
        shared = torch.logsumexp(v, 1, keepdim=True) - 0.6931471805599453
        return torch.where(private, m, m.mean(1, keepdim=True)).view(-1, LATENT), torch.where(private, v, shared).view(-1, LATENT)

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, 1)
        if self.share:
            mean, log_variance = self.aggregated(mean, log_variance)
        z = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        logits = self.decoder(self.dense(z).view(-1, 64, 4, 4).contiguous(memory_format=torch.channels_last))
        kl = (mean**2 + log_variance.exp() - log_variance - 1).sum() / 2
        return (F.binary_cross_entropy_with_logits(logits, x, reduction="sum") + kl) / len(x)


def stepper(share):
    net = Pairs(share).to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(net.parameters(), 1e-4)
    x = torch.rand(2 * args.pairs, 1, 64, 64).contiguous(memory_format=torch.channels_last)

    def step():
        optimizer.zero_grad(set_to_none=True)
        net(x).backward()
        optimizer.step()
    return step


steps = {"vae": stepper(False), "ada-gvae": stepper(True)}
times = {name: [] for name in steps}
end = time.perf_counter() + args.seconds
while time.perf_counter() < end:
    for name, step in steps.items():
        start = time.perf_counter()
        step()
        times[name].append(1e3 * (time.perf_counter() - start))
print(json.dumps({"threads": args.threads, "pairs": args.pairs, "torch": torch.__version__,
                  **{name: {"median_ms": round(statistics.median(t[3:]), 1), "least_ms": round(min(t[3:]), 1)} for name, t in times.items()}}))
