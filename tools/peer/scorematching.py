"""Times a training step of denoising score matching in PyTorch on the CPU, by a second backward pass, one JSON line.

  python3 scorematching.py --threads 1 --seconds 20 --activation relu

The energy is the sum of ten columns of the encoder conv64 (four convolutions of side 4 and stride 2, 32, 32, 64 and 64 channels, a dense layer of 256), on 64
images of 64x64x1, sigma 0.01, with dequantised pixels; Adam. Compare in turns with
go test ./train/engine -run XXX -bench ScoreMatching -cpu 1.
"""
import argparse
import ctypes
import json
import os
import statistics
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--threads", type=int, default=1)
p.add_argument("--batch", type=int, default=64)
p.add_argument("--activation", choices=["relu", "softplus"], default="relu")
p.add_argument("--seconds", type=float, default=20)
args = p.parse_args()

# Before torch is loaded, which reads these.
os.environ["OMP_NUM_THREADS"] = str(args.threads)
libc = ctypes.CDLL("libc.so.6")
for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: no page faults in every step
    libc.mallopt(option, 2**31 - 1)

import torch  # noqa: E402
import torch.nn as nn  # noqa: E402

torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
torch.manual_seed(0)

phi = nn.ReLU if args.activation == "relu" else nn.Softplus
layers, channels = [], 1
for out in (32, 32, 64, 64):
    layers += [nn.Conv2d(channels, out, 4, 2, 1), phi()]
    channels = out
net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 256), phi(), nn.Linear(256, 10)).to(memory_format=torch.channels_last)
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
images = torch.rand(args.batch, 1, 64, 64).to(memory_format=torch.channels_last)
sigma = 0.01


def step():
    noise = torch.randn_like(images)
    y = (images * (255 / 256) + torch.rand_like(images) / 256 + sigma * noise).requires_grad_()
    slope, = torch.autograd.grad(net(y).sum(), y, create_graph=True)
    residual = sigma * noise - sigma**2 * slope
    loss = (residual**2).sum() / (2 * args.batch)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


for _ in range(3):
    step()
wall, cpu = [], []
end = time.perf_counter() + args.seconds
while time.perf_counter() < end:
    w, c = time.perf_counter(), time.process_time()
    step()
    wall.append(time.perf_counter() - w)
    cpu.append(time.process_time() - c)
print(json.dumps({"peer": "PyTorch " + torch.__version__, "activation": args.activation, "batch": args.batch, "threads": args.threads, "steps": len(wall),
                  "median_ms": round(1e3 * statistics.median(wall), 1), "best_ms": round(1e3 * min(wall), 1), "best_cpu_ms": round(1e3 * min(cpu), 1)}))
