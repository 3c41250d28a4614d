"""Times a training step of ResNet-18 for small images in PyTorch on the CPU, one JSON line.

  python3 resnet18.py --threads 1 --seconds 30

The network is the encoder resnet18: a convolution of side 3 and stride 1, eight basic blocks, the mean over the
image; the loss is the mean square of the 512 features. The settings are those that make PyTorch fastest here:
channels last, the malloc of freed tensors kept, denormals flushed. --layers times each kind of convolution instead,
forward and backward, with the rate of a direct sum. Compare in turns with
go test ./graph/nn -run XXX -bench ResNet18Step and go test ./internal/kernel/conv -run XXX -bench ResNet18.
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
p.add_argument("--side", type=int, default=64)
p.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
p.add_argument("--seconds", type=float, default=30)
p.add_argument("--layers", action="store_true")
args = p.parse_args()

# Before torch is loaded, which reads these.
os.environ["OMP_NUM_THREADS"] = str(args.threads)
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # oneDNN alone threads
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
libc = ctypes.CDLL("libc.so.6")
for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: no page faults in every step
    libc.mallopt(option, 2**31 - 1)

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(args.threads)
torch.set_flush_denormal(True)
torch.manual_seed(0)

from networks import resnet18  # noqa: E402


def images(*shape):
    return torch.rand(*shape).contiguous(memory_format=torch.channels_last)


def times(f, seconds):
    """Wall and CPU seconds of calls, after two to warm up."""
    for _ in range(2):
        f()
    wall, cpu, end = [], [], time.perf_counter() + seconds
    while len(wall) < 3 or time.perf_counter() < end:
        c, t = time.process_time(), time.perf_counter()
        f()
        wall.append(time.perf_counter() - t)
        cpu.append(time.process_time() - c)
    return wall, cpu


def record(wall, cpu):
    ms = lambda x: round(x * 1e3, 1)  # noqa: E731
    return dict(best_ms=ms(min(wall)), median_ms=ms(statistics.median(wall)), best_cpu_ms=ms(min(cpu)), n=len(wall))


def step():
    net = resnet18().to(memory_format=torch.channels_last)
    x = images(args.batch, 3, args.side, args.side)
    make = torch.optim.Adam if args.optimizer == "adam" else lambda q, lr: torch.optim.SGD(q, lr, momentum=0.9)
    optimizer = make(net.parameters(), lr=1e-3)

    def run():
        loss = net(x).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print(json.dumps(dict(model="resnet18", threads=args.threads, batch=args.batch, side=args.side, optimizer=args.optimizer,
                          torch=torch.__version__, **record(*times(run, args.seconds)))), flush=True)


def layers():
    side, before = args.side, 64
    kinds = [(side, 3, 64, 3, 1), (side, 64, 64, 3, 1)]
    for out in (128, 256, 512):
        kinds += [(side, before, out, 3, 2), (side, before, out, 1, 2), (side // 2, out, out, 3, 1)]
        side, before = side // 2, out
    for side, channels, out, kernel, stride in kinds:
        x, w = images(args.batch, channels, side, side), images(out, channels, kernel, kernel) - 0.5
        x.requires_grad_(channels > 3)
        w.requires_grad_()
        y = F.conv2d(x, w, None, stride, kernel // 2)
        flop = 2 * kernel * kernel * channels * y.numel()
        gradient = torch.rand_like(y)
        wanted = [x, w] if channels > 3 else [w]
        for name, work, f in (("forward", 1, lambda: F.conv2d(x, w, None, stride, kernel // 2)),
                              ("backward", len(wanted), lambda: torch.autograd.grad(y, wanted, gradient, retain_graph=True))):
            r = record(*times(f, args.seconds / 20))
            print(json.dumps(dict(layer=f"{side}x{channels}-{out}-k{kernel}s{stride}", direction=name, threads=args.threads, **r,
                                  best_cpu_gflops=round(work * flop / r["best_cpu_ms"] / 1e6, 1))), flush=True)


layers() if args.layers else step()
