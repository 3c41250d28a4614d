"""Times PyTorch's optimisers on the parameters of BenchmarkOptimizers: nanoseconds for a million parameters, minima of 15 steps.

usage: python3 torch_optimizers.py THREADS
"""
import sys
import time

import torch

torch.set_num_threads(int(sys.argv[1]))
TENSORS, ROWS, COLUMNS = 8, 512, 1024


def measure(make, **options):
    parameters = [torch.randn(ROWS, COLUMNS, requires_grad=True) for _ in range(TENSORS)]
    for p in parameters:
        p.grad = torch.randn(ROWS, COLUMNS)
    o = make(parameters, **options)
    best = float("inf")
    for step in range(17):
        begin = time.perf_counter()
        o.step()
        if step > 1:
            best = min(best, time.perf_counter() - begin)
    return best * 1e9 / (TENSORS * ROWS * COLUMNS / 1e6)


for name, make, options in [
    ("adam", torch.optim.Adam, {}), ("adamw", torch.optim.AdamW, {}), ("sgd", torch.optim.SGD, {"lr": 1e-5, "momentum": 0.9}),
    ("rmsprop", torch.optim.RMSprop, {}), ("rmsprop-centred", torch.optim.RMSprop, {"centered": True}),
]:
    times = {}
    for foreach in (False, True):
        times[foreach] = measure(make, foreach=foreach, **options)
    print(f"{name:16} {times[False]:10.0f} plain {times[True]:10.0f} foreach")
