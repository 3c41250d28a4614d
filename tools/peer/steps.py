"""Times a training step (forward, backward, Adam) in PyTorch on the CPU: one JSON line, with milliseconds.

  python3 steps.py --model vae --channels 1 --batch 64 --threads 1

Models: vae, lsbd (LSBD-VAE, two images a pair), cofhae (a discriminator of 6 x 1000 units), byol. --batch counts images.
Convolutions are channels-last. Transposed convolutions are the input gradients of convolutions, so oneDNN computes all
their products; --plain leaves both as PyTorch has them. Freed memory is kept and denormals are flushed.
"""
import argparse
import ctypes
import json
import os
import statistics
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--model", choices=["vae", "lsbd", "cofhae", "byol"], default="vae")
p.add_argument("--channels", type=int, default=1)
p.add_argument("--batch", type=int, default=64)
p.add_argument("--threads", type=int, default=1)
p.add_argument("--plain", action="store_true")
p.add_argument("--seconds", type=float, default=3)
args = p.parse_args()
tuned = args.model in ("vae", "lsbd") and not args.plain

# Before torch is loaded, which reads these. With oneDNN's convolutions, threads of OpenBLAS would only be in their way.
os.environ["OMP_NUM_THREADS"] = str(args.threads)
os.environ["OPENBLAS_NUM_THREADS"] = str(1 if tuned else args.threads)
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # otherwise the two pools spin against each other
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
libc = ctypes.CDLL("libc.so.6")
for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: no page faults in every step
    libc.mallopt(option, 2**31 - 1)

import torch  # noqa: E402

torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
torch.manual_seed(0)

import networks  # noqa: E402

if tuned:
    networks.CONV_TRANSPOSE = networks.FastConvTranspose
FORMAT = torch.channels_last if tuned else torch.contiguous_format


def images(channels):
    return torch.rand(args.batch, channels, 64, 64).contiguous(memory_format=FORMAT)


def minimise(net, loss):
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)

    def step():
        value = loss()
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        optimiser.step()
    return step


def step_of(model):
    if model == "vae":
        net, x = networks.VAE(args.channels, 10).to(memory_format=FORMAT), images(args.channels)
        return minimise(net, lambda: net.loss(x))
    if model == "lsbd":
        net, x = networks.LSBDVAE(args.channels).to(memory_format=FORMAT), images(args.channels)
        angle = torch.rand(args.batch // 2, 2, 2) * 6.28
        angle[:, 0] = 0
        return minimise(net, lambda: net.labelled(x, angle))
    if model == "cofhae":
        net, x = networks.COFHAE(), torch.rand(args.batch, 64)
        return lambda: net.step(x)
    net, x, y = networks.BYOL(layout=FORMAT), images(3), images(3)
    return lambda: net.step(x, y)


step = step_of(args.model)
for _ in range(3):
    step()
times, used, end = [], time.process_time(), time.perf_counter() + args.seconds
while len(times) < 5 or time.perf_counter() < end:
    start = time.perf_counter()
    step()
    times.append(time.perf_counter() - start)
used = time.process_time() - used
blas = ctypes.CDLL("libblas.so.3")
blas.openblas_get_corename.restype = ctypes.c_char_p
print(json.dumps({
    "model": args.model, "channels": args.channels, "batch": args.batch, "threads": args.threads, "plain": args.plain,
    "median_ms": round(statistics.median(times) * 1e3, 3), "best_ms": round(min(times) * 1e3, 3),
    "cpu_ms": round(used / len(times) * 1e3, 3), "steps": len(times), "torch": torch.__version__, "kernels": blas.openblas_get_corename().decode()}))
