"""Writes the folder torch: whole trainings in PyTorch, in double precision, from given weights to trained weights.

All images form one batch, and no step depends on random numbers, so only rounding errors may differ. NAME-start.safetensors
and NAME-end.safetensors hold the weights by name, as float32. Run with: python3 torch_training.py
"""
import json
import struct

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
N = 16
images = np.random.RandomState(7).rand(N, 8, 8, 2).astype(np.float32)
np.save("torch/images.npy", images)
np.save("torch/factors.npy", np.arange(N)[:, None])
labels = np.stack([np.arange(N) % 3, np.arange(N) // 3 % 4], 1)
np.save("torch/labels.npy", labels)
options = np.stack([1 + np.arange(N) % 2, np.where(np.arange(N) % 2, 0, 1 + np.arange(N) // 2 % 2)], 1)  # 0: inactive
np.save("torch/options.npy", options)
with open("torch/hierarchy.json", "w") as f:
    f.write("""[{"type": "categorical", "options": [
  [{"type": "categorical", "options": [[{"type": "continuous"}], []]}],
  [{"type": "continuous"}]]},
 {"type": "continuous"}]
""")
groups, r = np.random.RandomState(8).permutation(N).reshape(4, 4), np.random.RandomState(9)
moves, rotations = (3 * r.randn(4, 4, 1)).astype(np.float32), r.randn(4, 4, 4).astype(np.float32)  # axis and angle
moves[:, 0], rotations[:, 0, 3] = 0, 0
np.save("torch/groups.npy", groups)
np.save("torch/moves.npy", moves)
np.save("torch/rotations.npy", rotations)
np.savetxt("torch/pairs.csv", np.arange(N).reshape(-1, 2), fmt="%d", delimiter=",")
x = torch.tensor(images, dtype=torch.float64).permute(0, 3, 1, 2)


def write(name, tensors):
    header, data, at = {"__metadata__": {"unravel.layout": "pytorch"}}, b"", 0
    for key, value in tensors.items():
        raw = value.detach().numpy().astype("<f4").tobytes()
        header[key] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + len(raw)]}
        data, at = data + raw, at + len(raw)
    text = json.dumps(header).encode()
    with open(f"torch/{name}.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def weights(shapes):
    """Random weights, rounded to float32: a filter or matrix by its fan-in, a norm near the identity."""
    w = {}
    for name, shape in shapes.items():
        if name.endswith("running_mean"):
            w[name] = torch.zeros(shape)
        elif name.endswith("running_var"):
            w[name] = torch.ones(shape)
        else:
            scale = 0.1 if len(shape) == 1 else np.prod(shape[1:]) ** -0.5
            w[name] = (scale * torch.randn(shape) + (1 if len(shape) == 1 and name.endswith("weight") else 0)).float().double()
    return w


def norm(name, channels):
    return {f"{name}.{k}": (channels,) for k in ("weight", "bias", "running_mean", "running_var")}


def linear(w, name, h):
    return F.linear(h, w[name + ".weight"], w.get(name + ".bias"))


def batch_norm(w, name, h):
    return F.batch_norm(h, w.get(name + ".running_mean"), w.get(name + ".running_var"), w[name + ".weight"], w[name + ".bias"], True)


def same(h):  # TensorFlow's padding for a 3x3 filter of stride 2
    return F.pad(h, (0, 1, 0, 1))


def train(name, w, loss, optimizer, steps, rate=lambda s: 1, clip=None, after=None):
    write(name + "-start", w)
    trained = [v.requires_grad_(True) for k, v in w.items() if "running" not in k and not k.startswith(("target.", "cascade.", "queue."))]
    o = optimizer(trained)
    lr = o.param_groups[0]["lr"]
    for step in range(steps):
        o.param_groups[0]["lr"] = lr * rate(step / steps)
        o.zero_grad()
        loss(w).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(trained, clip)
        o.step()
        if after and after(step / steps):
            o = optimizer(trained)  # without moments
    write(name + "-end", w)


def autoencoder(w):
    h = F.gelu(F.group_norm(F.conv2d(same(x), w["encoder.conv1.weight"], stride=2), 2, w["encoder.norm1.weight"], w["encoder.norm1.bias"]))
    r = "encoder.residual1."
    a = F.relu(batch_norm(w, r + "norm1", F.conv2d(h, w[r + "conv1.weight"], stride=2, padding=1)))
    a = batch_norm(w, r + "norm2", F.conv2d(a, w[r + "conv2.weight"], padding=1))
    h = F.relu(a + batch_norm(w, r + "projection-norm", F.conv2d(h, w[r + "projection.weight"], stride=2)))
    h = F.silu(F.layer_norm(linear(w, "encoder.dense1", F.avg_pool2d(h, 2).flatten(1)), (8,), w["encoder.norm2.weight"], w["encoder.norm2.bias"]))
    h = F.elu(linear(w, "decoder.dense1", linear(w, "latent.code", h)))
    h = F.softplus(linear(w, "decoder.image1", h).view(N, 8, 1, 1))
    h = h.view(N, 2, 2, 2, 1, 1).permute(0, 3, 4, 1, 5, 2).reshape(N, 2, 2, 2)  # shuffle in TensorFlow's order
    h = F.interpolate(h, scale_factor=2, mode="bilinear", align_corners=False)
    h = torch.tanh(F.conv2d(h, w["decoder.conv1.weight"], w["decoder.conv1.bias"], padding=1))
    y = F.conv_transpose2d(h, w["decoder.deconv1.weight"], w["decoder.deconv1.bias"], stride=2, padding=1)
    return F.binary_cross_entropy_with_logits(y, x, reduction="none").sum((1, 2, 3)).mean()


def byol(w):
    a = (x - 0.4) / 0.5
    views = a, a.flip(3)

    def project(h, of):
        h = F.relu(batch_norm(w, of + "encoder.norm1", F.conv2d(same(h), w[of + "encoder.conv1.weight"], stride=2)))
        h = linear(w, of + "encoder.dense1", h.flatten(1))
        return linear(w, of + "projector.dense2", F.relu(batch_norm(w, of + "projector.norm1", linear(w, of + "projector.dense1", h))))

    with torch.no_grad():
        targets = [project(v, "target.") for v in views]
    total = 0
    for v, target in zip(views, targets[::-1]):
        h = F.relu(batch_norm(w, "predictor.norm1", linear(w, "predictor.dense1", project(v, ""))))
        total = total + (2 - 2 * F.cosine_similarity(linear(w, "predictor.dense2", h), target)).mean()
    return total


def moco(w):
    """Version 2. The queue holds three batches, so the order of images within a batch does not matter."""
    a = (x - 0.4) / 0.5

    def unit(h, of):
        h = F.relu(batch_norm(w, of + "encoder.norm1", F.conv2d(same(h), w[of + "encoder.conv1.weight"], stride=2)))
        h = F.relu(linear(w, of + "head.dense1", linear(w, of + "encoder.dense1", h.flatten(1))))
        return F.normalize(linear(w, of + "head.out", h))

    q = unit(a, "")
    with torch.no_grad():
        w["keys"] = unit(a.flip(3), "target.")
    logits = torch.cat([(q * w["keys"]).sum(1, keepdim=True), q @ w["queue.keys"]], 1) / 0.2
    return F.cross_entropy(logits, torch.zeros(N, dtype=torch.long))


def barlow_twins(w):
    a, p = (x - 0.4) / 0.5, "projector."
    views = []
    for h in a, a.flip(3):
        h = F.relu(batch_norm(w, "encoder.norm1", F.conv2d(same(h), w["encoder.conv1.weight"], stride=2)))
        h = linear(w, "encoder.dense1", h.flatten(1))
        for k in "12":
            h = F.relu(batch_norm(w, p + "norm" + k, linear(w, p + "dense" + k, h)))
        views.append(F.batch_norm(linear(w, p + "dense3", h), None, None, training=True))
    c = views[0].T @ views[1] / N
    return ((1 - c.diagonal()) ** 2).sum() + 0.02 * (c - torch.diag(c.diagonal())).pow(2).sum()


def cofhae(w):
    """The first option of a choice leads to another choice; values are 1 and 2 options deep, and at the root."""
    h = torch.tanh(linear(w, "encoder.dense1", x.flatten(1)))
    values = linear(w, "latent.value", h)
    outer, inner = (F.softmax(linear(w, "latent.option" + k, h) / 0.7, 1) for k in "12")
    inner = inner * outer[:, :1]
    values = torch.stack([values[:, 0] * inner[:, 0], values[:, 1] * outer[:, 1], values[:, 2]], 1)
    y = torch.tanh(linear(w, "decoder.dense1", torch.cat([outer, inner, values], 1)))
    wanted = [F.one_hot(torch.tensor(o), 3)[:, 1:] for o in options.T]
    assignment = sum(((a - b) ** 2).sum(1).mean() for a, b in zip(wanted, (outer, inner)))
    return ((x.flatten(1) - torch.sigmoid(linear(w, "decoder.out", y))) ** 2).sum(1).mean() + 3 * assignment


def matrices(turns):
    """Rotations in space by vectors along the axis, as long as the angle, by the exponential map."""
    x, y, z, o = *turns.unbind(-1), torch.zeros(turns.shape[:-1])
    return torch.linalg.matrix_exp(torch.stack([o, -z, y, z, o, -x, -y, x, o], -1).unflatten(-1, (3, 3)))


def lsbd_vae(w):
    """Groups of four images on a circle that turns twice, a sphere and a plane. Posteriors are narrow: z = mean."""
    h = torch.tanh(linear(w, "encoder.dense1", x.flatten(1)))[groups.flatten()]
    axes, angles = torch.tensor(rotations).double().split((3, 1), -1)
    turn = matrices(F.pad(2 * torch.tensor(moves).double(), (2, 0)))[..., :2, :2]
    total, moved = 0, []
    for k, actions in enumerate((turn, matrices(angles * F.normalize(axes, dim=-1)))):
        z = F.normalize(linear(w, f"latent.{k}.loc", h)).view(4, 4, -1, 1)
        common = F.normalize((actions.transpose(2, 3) @ z).mean(1, keepdim=True), dim=2)
        moved.append((actions @ common).flatten(2))
        total = total + 10 * (z.flatten(2) - moved[-1]).pow(2).sum(2).mean()
    mean, log_sigma = linear(w, "latent.2.loc", h).view(4, 4, 2), linear(w, "latent.2.scale", h)
    moved.append(mean.mean(1, keepdim=True).expand(4, 4, 2))
    total = total + 10 * (mean - moved[-1]).pow(2).sum(2).mean()
    total = total + (mean.view(N, 2) ** 2 + (2 * log_sigma).exp() - 1 - 2 * log_sigma).sum(1).mean() / 2
    y = linear(w, "decoder.out", torch.tanh(linear(w, "decoder.dense1", torch.cat(moved, 2).view(N, 7))))
    return ((x.flatten(1)[groups.flatten()] - torch.sigmoid(y)) ** 2).sum(1).mean() + total


def posteriors(w):
    """Means and variances of the first and the second images of the pairs (0, 1), (2, 3), ..."""
    h = torch.tanh(linear(w, "encoder.dense1", x.flatten(1)))
    mean, log_variance = linear(w, "latent.mean", h), linear(w, "latent.log-variance", h)
    return ((m[0::2], m[1::2]) for m in (mean, log_variance.exp()))


def ml_vae(w):
    """The divergence alone: the dimension with the largest divergence is private."""
    (a, b), (u, v) = posteriors(w)
    delta = u / v + (a - b) ** 2 / v - 1 - (u / v).log()
    private = delta == delta.max(1, keepdim=True)[0]
    shared = 2 * u * v / (u + v)
    total = 0
    for m, s in (a, u), (b, v):
        m, s = torch.where(private, m, (a / u + b / v) / 2 * shared), torch.where(private, s, shared)
        total = total + 0.25 * (m**2 + s - 1 - s.log()).sum(1).mean()
    return total


def slow_vae(w):
    (a, b), (u, v) = posteriors(w)
    total = 0
    for m, s in (a, u), (b, v):
        total = total + 0.25 * (m**2 + s - 1 - s.log()).sum(1).mean()
        expected = (2 * s / np.pi).sqrt() * (-((a - b) ** 2) / (2 * s)).exp() + (a - b) * torch.erf((a - b) / (2 * s).sqrt())
        entropy = (2 * np.pi * np.e * s).log() / 2
        total = total + 2 * (6 * expected - np.log(6 / 2) - entropy / 2).sum(1).mean()
    return total


def ada_gvae(w):
    """The divergence alone: shared posteriors of the pairs."""
    (a, b), (u, v) = posteriors(w)
    delta = u / v + (a - b) ** 2 / v - 1 - (u / v).log()
    private = delta >= (delta.min(1, keepdim=True)[0] + delta.max(1, keepdim=True)[0]) / 2
    total = 0
    for m, s in (a, u), (b, v):
        m, s = torch.where(private, m, (a + b) / 2), torch.where(private, s, (u + v) / 2)
        total = total + 0.25 * (m**2 + s - 1 - s.log()).sum(1).mean()
    return total


def cascade_vae(w):
    """Five phases with 1, 2, 2, 3 and 3 open dimensions, from the third on with categories. Posteriors are narrow: z = mean."""
    h = torch.tanh(linear(w, "encoder.dense1", x.flatten(1)))
    mean, sigma = linear(w, "latent.mean", h), F.softplus(linear(w, "latent.scale", h)) + 1e-8

    def errors(chosen):
        y = linear(w, "decoder.out", torch.tanh(linear(w, "decoder.dense1", torch.cat([chosen, mean], 1))))
        return ((x.flatten(1) - torch.sigmoid(y)) ** 2).sum(1)

    chosen = torch.zeros(N, 3)
    if w["cascade.categories"] > 0:
        with torch.no_grad():
            cost = torch.stack([errors(row.expand(N, 3)) for row in torch.eye(3)], 1)
        slots = torch.cat([cost + 2.5 * members for members in range(N)], 1)  # the n-th member costs 2.5 n
        chosen = torch.eye(3)[linear_sum_assignment(slots)[1] % 3]
    open = torch.arange(3) < w["cascade.opened"]
    return errors(chosen).mean() + (torch.where(open, 0.3, 4.0) * (mean**2 + sigma**2 - 1 - 2 * sigma.log()) / 2).sum(1).mean()


def regularisers(w):
    """Modularity, informativeness and dependence of a code column for each factor."""
    z = linear(w, "latent.code", torch.tanh(linear(w, "encoder.dense1", x.flatten(1))))
    groups = [[z[labels[:, k] == level, k] for level in range(size)] for k, size in enumerate((3, 4))]
    total = 0
    for group in groups:
        gaps = [(g[:, None] - g).abs() for g in group]
        total = total + sum(g.var() for g in group) / len(group)
        total = total + sum(d.sum() / (2 * len(d) * (len(d) - 1)) for d in gaps) / len(group)
        total = total + 1.5 * max(d.max() for d in gaps)  # the diameter, and the radius
        total = total + sum((g - (g.sort()[0][(len(g) - 1) // 2] + g.sort()[0][len(g) // 2]) / 2).abs().mean() for g in group) / len(group)
    squares = (z[:, None] - z) ** 2
    apart = (squares.sum(2) + torch.eye(N)).sqrt()  # no root of 0
    y = torch.tensor(labels / [2, 3])
    total = total + 10 * (((y[:, None] - y) ** 2).sum(2).sqrt() - apart).clamp(min=0).mean()
    inputs = torch.cat([z, torch.ones(N, 1)], 1)
    total = total + 10 * ((inputs @ torch.linalg.lstsq(inputs.detach(), y).solution - y) ** 2).mean()
    medians = [s[np.tril_indices(N, -1)].sort()[0][(N * (N - 1) // 2 - 1) // 2] for s in squares.permute(2, 0, 1)]
    k, l = ((-s / (2 * m)).exp() for s, m in zip(squares.permute(2, 0, 1), medians))
    centre = torch.eye(N) - 1 / N
    return total + 10 * torch.trace(k @ centre @ l @ centre) / N**2


r = "encoder.residual1."
train("ae", weights({
    "encoder.conv1.weight": (4, 2, 3, 3), "encoder.norm1.weight": (4,), "encoder.norm1.bias": (4,),
    r + "conv1.weight": (6, 4, 3, 3), r + "conv2.weight": (6, 6, 3, 3), r + "projection.weight": (6, 4, 1, 1),
    **norm(r + "norm1", 6), **norm(r + "norm2", 6), **norm(r + "projection-norm", 6),
    "encoder.dense1.weight": (8, 6), "encoder.norm2.weight": (8,), "encoder.norm2.bias": (8,),
    "latent.code.weight": (3, 8), "latent.code.bias": (3,), "decoder.dense1.weight": (8, 3), "decoder.dense1.bias": (8,),
    "decoder.image1.weight": (8, 8), "decoder.image1.bias": (8,), "decoder.conv1.weight": (4, 2, 3, 3), "decoder.conv1.bias": (4,),
    "decoder.deconv1.weight": (4, 2, 4, 4), "decoder.deconv1.bias": (2,)}),
    autoencoder, lambda p: torch.optim.AdamW(p, lr=0.003), 8, rate=lambda s: 0.1 + 0.45 * (1 + np.cos(np.pi * s)), clip=5)

online = {"encoder.conv1.weight": (4, 2, 3, 3), "encoder.norm1.weight": (4,), "encoder.norm1.bias": (4,),
          "encoder.dense1.weight": (6, 64), "encoder.dense1.bias": (6,), "projector.dense1.weight": (8, 6), "projector.dense1.bias": (8,),
          "projector.norm1.weight": (8,), "projector.norm1.bias": (8,), "projector.dense2.weight": (4, 8), "projector.dense2.bias": (4,)}
w = weights({**online, **norm("encoder.norm1", 4), **norm("projector.norm1", 8), "predictor.dense1.weight": (8, 4),
             "predictor.dense1.bias": (8,), **norm("predictor.norm1", 8), "predictor.dense2.weight": (4, 8), "predictor.dense2.bias": (4,),
             **{"target." + k: s for k, s in online.items()}})


def follow(progress, momentum=None):
    momentum = momentum or 1 - 0.1 * (np.cos(np.pi * progress) + 1) / 2
    for k in online:
        w["target." + k] = momentum * w["target." + k] + (1 - momentum) * w[k].detach()


train("byol", w, byol, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01), 8, after=follow)
gaussian = {"encoder.dense1.weight": (8, 128), "encoder.dense1.bias": (8,),
            **{f"latent.{k}.{part}": shape for k in ("mean", "log-variance") for part, shape in (("weight", (5, 8)), ("bias", (5,)))}}
train("ada-gvae", weights(gaussian), ada_gvae, lambda p: torch.optim.RMSprop(p, lr=0.002, centered=True, momentum=0.5), 10)

w = weights({"encoder.dense1.weight": (8, 128), "encoder.dense1.bias": (8,), "latent.mean.weight": (3, 8), "latent.mean.bias": (3,),
             "decoder.dense1.weight": (8, 6), "decoder.dense1.bias": (8,), "decoder.out.weight": (128, 8), "decoder.out.bias": (128,)})
w.update({"latent.scale.weight": torch.zeros(3, 8), "latent.scale.bias": torch.full((3,), -40.0), "cascade.opened": torch.ones(1), "cascade.categories": torch.zeros(1)})


def open_next(progress):
    phase, before = int(round(10 * progress) + 1) // 2, w["cascade.opened"].item()
    if phase < 5:
        w["cascade.categories"][0] = phase >= 2
        w["cascade.opened"][0] = min(phase if phase >= 2 else phase + 1, 3)
    return w["cascade.opened"].item() != before


train("cascade-vae", w, cascade_vae, lambda p: torch.optim.SGD(p, lr=0.002, momentum=0.9), 10, after=open_next)
train("encoder", weights({"encoder.dense1.weight": (8, 128), "encoder.dense1.bias": (8,), "latent.code.weight": (2, 8), "latent.code.bias": (2,)}),
      regularisers, lambda p: torch.optim.SGD(p, lr=0.002, momentum=0.9), 10)

online = {"encoder.conv1.weight": (4, 2, 3, 3), "encoder.norm1.weight": (4,), "encoder.norm1.bias": (4,),
          "encoder.dense1.weight": (6, 64), "encoder.dense1.bias": (6,), "head.dense1.weight": (6, 6), "head.dense1.bias": (6,),
          "head.out.weight": (4, 6), "head.out.bias": (4,)}
w = weights({**online, **norm("encoder.norm1", 4), **{"target." + k: s for k, s in online.items()}, "queue.keys": (4, 3 * N), "queue.next": (1,)})
w["queue.keys"], w["queue.next"] = F.normalize(w["queue.keys"], dim=0).float().double(), torch.zeros(1)


def enqueue(progress):
    follow(progress, 0.9)
    start = int(w["queue.next"].item())
    w["queue.keys"][:, start:start + N] = w.pop("keys").T
    w["queue.next"][0] = (start + N) % (3 * N)


train("moco-v2", w, moco, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.001), 8, after=enqueue)
train("barlow-twins", weights({
    "encoder.conv1.weight": (4, 2, 3, 3), **norm("encoder.norm1", 4), "encoder.dense1.weight": (6, 64), "encoder.dense1.bias": (6,),
    "projector.dense1.weight": (8, 6), **norm("projector.norm1", 8), "projector.dense2.weight": (8, 8), **norm("projector.norm2", 8),
    "projector.dense3.weight": (8, 8)}), barlow_twins, lambda p: torch.optim.SGD(p, lr=0.002, momentum=0.9), 8)
train("cofhae", weights({
    "encoder.dense1.weight": (8, 128), "encoder.dense1.bias": (8,), "latent.value.weight": (3, 8), "latent.value.bias": (3,),
    "latent.option1.weight": (2, 8), "latent.option1.bias": (2,), "latent.option2.weight": (2, 8), "latent.option2.bias": (2,),
    "decoder.dense1.weight": (8, 7), "decoder.dense1.bias": (8,), "decoder.out.weight": (128, 8), "decoder.out.bias": (128,)}),
    cofhae, lambda p: torch.optim.SGD(p, lr=0.003, momentum=0.9), 8)
train("ml-vae", weights(gaussian), ml_vae, lambda p: torch.optim.Adam(p, lr=0.002), 10)
train("slow-vae", weights(gaussian), slow_vae, lambda p: torch.optim.Adam(p, lr=0.002), 10)
w = weights({"encoder.dense1.weight": (8, 128), "encoder.dense1.bias": (8,),
             **{f"latent.{k}.loc.{part}": shape for k, d in enumerate((2, 3, 2)) for part, shape in (("weight", (d, 8)), ("bias", (d,)))},
             "decoder.dense1.weight": (8, 7), "decoder.dense1.bias": (8,), "decoder.out.weight": (128, 8), "decoder.out.bias": (128,)})
w.update({"latent.2.scale.weight": torch.zeros(2, 8), "latent.2.scale.bias": torch.full((2,), -40.0)})
for k in "01":  # the limits of log t are equal
    w.update({f"latent.{k}.scale.weight": torch.zeros(1, 8), f"latent.{k}.scale.bias": torch.zeros(1)})
train("lsbd-vae", w, lsbd_vae, lambda p: torch.optim.SGD(p, lr=0.003, momentum=0.9), 8)
