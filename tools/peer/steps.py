"""Times a training step (forward, backward, Adam) in PyTorch: one JSON line, with milliseconds.

  python3 steps.py --model vae --channels 1 --batch 64 --threads 1
  python3 steps.py --model vae --batch 64 --device cuda [--graph] [--tf32]

Models: vae, lsbd (LSBD-VAE, two images a pair), cofhae (a discriminator of 6 x 1000 units), byol, resnet18. --batch
counts images.
On the CPU convolutions are channels-last. Transposed convolutions are the input gradients of convolutions, so oneDNN
computes all their products; --plain leaves both as PyTorch has them. Freed memory is kept and denormals are flushed.
On a GPU each step copies the images from pinned memory. --graph replays a CUDA graph of the step, and --tf32 lets
cuDNN and cuBLAS round the factors of products to 10 bits.
"""
import argparse
import ctypes
import json
import os
import statistics
import time

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--model", choices=["vae", "lsbd", "cofhae", "byol", "resnet18"], default="vae")
p.add_argument("--channels", type=int, default=1)
p.add_argument("--batch", type=int, default=64)
p.add_argument("--threads", type=int, default=1)
p.add_argument("--plain", action="store_true")
p.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
p.add_argument("--graph", action="store_true")
p.add_argument("--tf32", action="store_true")
p.add_argument("--seconds", type=float, default=3)
args = p.parse_args()
tuned = args.model in ("vae", "lsbd", "resnet18") and not args.plain and args.device == "cpu"

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
if args.device == "cuda":
    torch.set_default_device("cuda")
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = args.tf32
uploads = []  # images on the GPU, and the same in pinned memory


def images(*shape):
    x = torch.rand(args.batch, *shape)
    if x.dim() == 4:
        x = x.contiguous(memory_format=FORMAT)
    if args.device == "cuda":
        uploads.append((x, x.cpu().pin_memory()))
    return x


def minimise(net, loss):
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)

    def step():
        value = loss()
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        optimiser.step()
    return step, [optimiser]


def step_of(model):
    if model == "vae":
        net, x = networks.VAE(args.channels, 10).to(memory_format=FORMAT), images(args.channels, 64, 64)
        return minimise(net, lambda: net.loss(x))
    if model == "lsbd":
        net, x = networks.LSBDVAE(args.channels).to(memory_format=FORMAT), images(args.channels, 64, 64)
        angle = torch.rand(args.batch // 2, 2, 2) * 6.28
        angle[:, 0] = 0
        return minimise(net, lambda: net.labelled(x, angle))
    if model == "resnet18":
        net, x = networks.resnet18().to(memory_format=FORMAT), images(3, 64, 64)
        return minimise(net, lambda: net(x).square().mean())
    if model == "cofhae":
        net, x = networks.COFHAE(), images(64)
        return lambda: net.step(x), [net.opt, net.dopt]
    net, x, y = networks.BYOL(layout=FORMAT), images(3, 64, 64), images(3, 64, 64)
    return lambda: net.step(x, y), [net.opt]


def graphed(step, optimisers):
    """The replay of a CUDA graph of a step."""
    for group in (g for o in optimisers for g in o.param_groups):
        group["capturable"] = True
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


step, optimisers = step_of(args.model)
if args.graph:
    step = graphed(step, optimisers)
block = 20 if args.device == "cuda" else 1  # launches of a step overlap with the work of earlier ones


def steps():
    for _ in range(block):
        for x, pinned in uploads:
            x.copy_(pinned, non_blocking=True)
        step()
    if args.device == "cuda":
        torch.cuda.synchronize()


for _ in range(3):
    steps()
times, used, end = [], time.process_time(), time.perf_counter() + args.seconds
while len(times) < 5 or time.perf_counter() < end:
    start = time.perf_counter()
    steps()
    times.append((time.perf_counter() - start) / block)
used = time.process_time() - used
if args.device == "cuda":
    kernels = torch.cuda.get_device_name()
else:
    blas = ctypes.CDLL("libblas.so.3")
    blas.openblas_get_corename.restype = ctypes.c_char_p
    kernels = blas.openblas_get_corename().decode()
print(json.dumps({
    "model": args.model, "channels": args.channels, "batch": args.batch, "threads": args.threads, "plain": args.plain,
    "device": args.device, "graph": args.graph, "tf32": args.tf32,
    "median_ms": round(statistics.median(times) * 1e3, 3), "best_ms": round(min(times) * 1e3, 3),
    "cpu_ms": round(used / len(times) / block * 1e3, 3), "steps": len(times) * block, "torch": torch.__version__,
    "kernels": kernels}))
