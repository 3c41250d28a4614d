"""Writes the folder torch: whole trainings in PyTorch, in double precision, from given weights to trained weights.

All images form one batch. Noise, the order of images and walks come from the streams of a run with seed 0, so only
rounding errors may differ. NAME-start.safetensors and NAME-end.safetensors hold the weights by name, as float32. The
folder torch/sticks is from: unravel data export chopsticks samples=16 variant=slope depth=2. Run with: python3 torch_training.py
"""
import json
import os
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
os.makedirs("torch/plane", exist_ok=True)  # the images again, with a circular and an ordinal factor
np.save("torch/plane/images.npy", images)
np.save("torch/plane/factors.npy", np.stack([np.arange(N) // 4, np.arange(N) % 4], 1))
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


class Stream:
    """A named stream of a run with seed 0: PCG-DXSM, and the numbers of Go's math/rand/v2."""

    def __init__(self, name):
        h = 0xCBF29CE484222325
        for c in name.encode():  # FNV-1a
            h = (h ^ c) * 0x100000001B3 % 2**64
        self.state = h

    def uint64(self):
        self.state = (self.state * (2549297995355413924 << 64 | 4865540595714422341) + (6364136223846793005 << 64 | 1442695040888963407)) % 2**128
        hi, lo = self.state >> 64, self.state % 2**64
        hi = (hi ^ hi >> 32) * 0xDA942042E4DD58B5 % 2**64
        return (hi ^ hi >> 48) * (lo | 1) % 2**64

    def below(self, n):
        if n & (n - 1) == 0:
            return self.uint64() % n
        while True:
            product = self.uint64() * n
            if product % 2**64 >= 2**64 % n:
                return product >> 64

    def shuffled(self, items):
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items

    def uniform(self):
        return self.uint64() % 2**53 / 2**53

    def normal(self):
        """The ziggurat of Marsaglia and Tsang 2000, with 128 strips of equal area."""
        while True:
            u = self.uint64()
            j, i = u % 2**32, u >> 32 & 127
            j -= j >> 31 << 32
            x = j * EDGE[i] / 2**31
            if abs(j) < INSIDE[i] * 2**31:
                return x
            if i == 0:
                while True:
                    x, y = -np.log(self.uniform()) / R, -np.log(self.uniform())
                    if y + y >= x * x:
                        return R + x if j > 0 else -R - x
            if HEIGHT[i] + self.uniform() * (HEIGHT[i - 1] - HEIGHT[i]) < np.exp(-x * x / 2):
                return x

    def normals(self, *shape):
        return torch.tensor(np.array([self.normal() for _ in range(int(np.prod(shape)))]).astype(np.float32).reshape(shape)).double()


R, AREA = 3.442619855899, 9.91256303526217e-3  # start of the tail, and area of a strip
EDGE = [R]
for _ in range(126):
    EDGE.insert(0, np.sqrt(-2 * np.log(AREA / EDGE[0] + np.exp(-EDGE[0] ** 2 / 2))))
EDGE.insert(0, AREA * np.exp(R * R / 2))  # strip 0 has the tail
INSIDE = [R / EDGE[0], 0] + [EDGE[i - 1] / EDGE[i] for i in range(2, 128)]
HEIGHT = [1.0] + [np.exp(-e * e / 2) for e in EDGE[1:]]


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


def simsiam(w):
    views = []
    for h in (x - 0.4) / 0.5, ((x - 0.4) / 0.5).flip(3):
        h = F.relu(batch_norm(w, "encoder.norm1", F.conv2d(same(h), w["encoder.conv1.weight"], stride=2)))
        h = linear(w, "encoder.dense1", h.flatten(1))
        for k in "12":
            h = F.relu(batch_norm(w, "projector.norm" + k, linear(w, "projector.dense" + k, h)))
        views.append(F.batch_norm(linear(w, "projector.dense3", h), w["projector.norm3.running_mean"], w["projector.norm3.running_var"], training=True))
    total = 0
    for v, target in zip(views, views[::-1]):
        h = F.relu(batch_norm(w, "predictor.norm1", linear(w, "predictor.dense1", v)))
        total = total + (2 - 2 * F.cosine_similarity(linear(w, "predictor.dense2", h), target.detach())).mean()
    return total


def moco(w):
    """Both versions. The queue holds three batches, so the order of images within a batch does not matter."""
    a = (x - 0.4) / 0.5

    def unit(h, of):
        h = F.relu(batch_norm(w, of + "encoder.norm1", F.conv2d(same(h), w[of + "encoder.conv1.weight"], stride=2)))
        h = linear(w, of + "encoder.dense1", h.flatten(1))
        if of + "head.dense1.weight" in w:
            h = F.relu(linear(w, of + "head.dense1", h))
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


def poses(w):
    """Two orthogonal points on spheres that the same rotations move. Reconstructions do not train the encoder."""
    h = torch.tanh(linear(w, "encoder.dense1", x.flatten(1)))[groups.flatten()]
    axes, angles = torch.tensor(rotations).double().split((3, 1), -1)
    actions = matrices(angles * F.normalize(axes, dim=-1))
    a, b = (F.normalize(linear(w, f"latent.{k}.loc", h)) for k in "01")
    b = F.normalize(b - (a * b).sum(1, keepdim=True) * a)
    total, moved = 0, []
    for z in a, b:
        z = z.view(4, 4, 3, 1)
        common = F.normalize((actions.transpose(2, 3) @ z).mean(1, keepdim=True), dim=2)
        moved.append((actions @ common).view(N, 3))
        total = total + 10 * (z.view(N, 3) - moved[-1]).pow(2).sum(1).mean()
    y = linear(w, "decoder.out", torch.tanh(linear(w, "decoder.dense1", torch.cat(moved, 1).detach())))
    return ((x.flatten(1)[groups.flatten()] - torch.sigmoid(y)) ** 2).sum(1).mean() + total


def posteriors(w):
    """Means and variances of the first and the second images of the pairs (0, 1), (2, 3), ..."""
    h = torch.tanh(linear(w, "encoder.dense1", x.flatten(1)))
    mean, log_variance = linear(w, "latent.mean", h), linear(w, "latent.log-variance", h)
    return ((m[0::2], m[1::2]) for m in (mean, log_variance.exp()))


def ml_vae(w, adaptive=False):
    """The divergence alone: the dimension with the largest divergence is private, or all above the adaptive threshold."""
    (a, b), (u, v) = posteriors(w)
    delta = u / v + (a - b) ** 2 / v - 1 - (u / v).log()
    most = delta.max(1, keepdim=True)[0]
    private = delta >= ((delta.min(1, keepdim=True)[0] + most) / 2 if adaptive else most)
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


def ada_gvae(w, k=None):
    """The divergence alone: shared posteriors of the pairs, with the k largest divergences or an adaptive threshold."""
    (a, b), (u, v) = posteriors(w)
    delta = u / v + (a - b) ** 2 / v - 1 - (u / v).log()
    private = delta >= (delta.topk(k)[0][:, -1:] if k else (delta.min(1, keepdim=True)[0] + delta.max(1, keepdim=True)[0]) / 2)
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


def dense(w, rows):
    return torch.tanh(linear(w, "encoder.dense1", x[rows].flatten(1)))


def errors(w, rows, z):
    """Squared errors of the reconstructions, summed over pixels; their mean over images."""
    y = linear(w, "decoder.out", torch.tanh(linear(w, "decoder.dense1", z)))
    return ((x[rows].flatten(1) - torch.sigmoid(y)) ** 2).sum(1).mean()


def divergence(mean, log_variance):
    return (mean**2 + log_variance.exp() - 1 - log_variance).sum(1).mean() / 2


def joint_vae():
    """Dupont 2018, equation 7, for two choices of 3 and 2 options: the temperature falls, and the capacities rise."""
    order, noise, step = Stream("batch"), Stream("noise"), iter(range(8))

    def loss(w):
        rows, t = order.shuffled(range(N)), next(step)
        h = dense(w, rows)
        mean, log_variance = linear(w, "latent.mean", h), linear(w, "latent.log-variance", h)
        z = mean + (log_variance / 2).exp() * noise.normals(N, 4)
        options, kl = [], 0
        for k, size in enumerate((3, 2)):
            log_alpha = F.log_softmax(linear(w, f"latent.{k}.loc", h), 1)
            u = (1 + torch.erf(noise.normals(N, size) / np.sqrt(2))) / 2
            options.append(F.softmax((log_alpha - (-(u + 1e-12).log() + 1e-12).log()) / 0.5 ** min(t / 6, 1), 1))
            kl = kl + np.log(size) + (log_alpha.exp() * log_alpha).sum(1).mean()
        total = errors(w, rows, torch.cat([*options, z], 1)) + 3 * (divergence(mean, log_variance) - 5 * min(t / 6, 1)).abs()
        return total + 2 * (kl - min(10 * t / 20, np.log(6))).abs()

    return loss


def heat_kernel(log_t, dim):
    """Divergence of the heat kernel of half the Laplacian from the uniform distribution, by quadrature over the angle."""
    nodes, weights = (torch.tensor(a) for a in np.polynomial.legendre.leggauss(800))
    t = log_t.exp()
    if dim == 1:
        theta, weights = np.pi * (nodes + 1) / 2, weights / 2
        f = 1 + 2 * sum((-l * l * t / 2).exp() * torch.cos(l * theta) for l in range(1, 80))
    else:
        p, q, f = torch.ones_like(nodes), nodes, 1
        for l in range(1, 80):
            f, p, q = f + (2 * l + 1) * (-l * (l + 1) * t / 2).exp() * q, q, ((2 * l + 1) * nodes * q - l * p) / (l + 1)
        weights = weights / 2  # the cosine is uniform
    f = f.clamp(min=1e-30)
    return (f * f.log() * weights).sum(1).mean()


def delta_vae():
    """A circle, a sphere and a plane. Points of the first two walk three steps from the mean (Perez Rey et al. 2020)."""
    order, noise = Stream("batch"), Stream("noise")

    def loss(w):
        rows = order.shuffled(range(N))
        h, points, kl = dense(w, rows), [], 0
        for k in (0, 1):
            z = F.normalize(linear(w, f"latent.{k}.loc", h))
            log_t = -2.5 + 1.5 * torch.tanh(linear(w, f"latent.{k}.scale", h))
            for eps in noise.normals(3, N, 2 + k):
                z = F.normalize(z + (log_t.exp() / 3).sqrt() * eps)
            points.append(z)
            kl = kl + heat_kernel(log_t, 1 + k)
        mean, log_sigma = linear(w, "latent.2.loc", h), linear(w, "latent.2.scale", h)
        points.append(mean + log_sigma.exp() * noise.normals(N, 2))
        return errors(w, rows, torch.cat(points, 1)) + kl + divergence(mean, 2 * log_sigma)

    return loss


def walks(stream):
    """Four episodes of three actions on the plane: steps of 3 up and down, first around the circle, then to and fro."""
    images, actions = [], []
    for _ in range(4):
        level = list(divmod(stream.below(N), 4))
        for t in range(4):
            actions.append(stream.below(4) if t else -1)
            if t:
                f, sign = divmod(actions[-1], 2)
                level[f] += (3, -3)[sign]
            level[0] %= 4
            level[1] = 6 - level[1] if level[1] > 3 else abs(level[1])
            images.append(4 * level[0] + level[1])
    return images, actions


def quessard():
    """Quessard et al. 2020, equations 6 and 7: every action is a product of rotations in the planes of R^4."""
    order = Stream("batch")

    def rotation(angles):
        g, k = torch.eye(4), 0
        for i in range(4):
            for j in range(i + 1, 4):
                plane = torch.zeros(4, 4)
                plane[i, j], plane[j, i] = 1, -1
                g, k = g @ torch.linalg.matrix_exp(angles[k] * plane), k + 1
        return g

    def loss(w):
        rows, actions = walks(order)
        start, z = F.normalize(linear(w, "latent.code", dense(w, rows[::4]))), []
        g = [rotation(a) for a in w["actions.angles"]]
        for n, a in enumerate(actions):
            z.append(start[n // 4] if a < 0 else g[a] @ z[-1])
        squares = w["actions.angles"] ** 2
        return errors(w, rows, torch.stack(z)) + 2 * (squares.sum(1) - squares.max(1)[0]).mean()

    return loss


def forward_vae():
    """Caselles-Dupre et al. 2019, section 4: a matrix moves the two columns of its action's factor. The KL fades out."""
    order, noise, step = Stream("batch"), Stream("noise"), iter(range(8))

    def loss(w):
        rows, actions = walks(order)
        h = dense(w, rows)
        mean, log_variance = linear(w, "latent.mean", h), linear(w, "latent.log-variance", h)
        z = mean + (log_variance / 2).exp() * noise.normals(N, 4)
        gaps = []
        for n, a in enumerate(actions):
            if a >= 0:
                m, f = w["actions.blocks"][a].view(2, 2), a // 2
                parts = [z[n - 1, :2], z[n - 1, 2:]]
                parts[f] = m @ parts[f]
                gaps.append((torch.cat(parts) - mean[n]) ** 2)
        return errors(w, rows, z) + 0.9 ** next(step) * divergence(mean, log_variance) + 4 * torch.stack(gaps).mean()

    return loss


def vae():
    """Bernoulli images with the total correlations of Chen et al. 2018, appendix C, and both regularisers of DIP-VAE."""
    order, noise = Stream("batch"), Stream("noise")

    def loss(w):
        rows = order.shuffled(range(N))
        h = dense(w, rows)
        mean, log_variance = linear(w, "latent.mean", h), linear(w, "latent.log-variance", h)
        z = mean + (log_variance / 2).exp() * noise.normals(N, 4)
        y = linear(w, "decoder.out", torch.tanh(linear(w, "decoder.dense1", z)))
        total = F.binary_cross_entropy_with_logits(y, x[rows].flatten(1), reduction="none").sum(1).mean()
        total = total + 0.5 * divergence(mean, log_variance)
        log_q = torch.distributions.Normal(mean, (log_variance / 2).exp()).log_prob(z[:, None])  # [sample, posterior, column]
        stratified = torch.full((N, N), 1 / (N - 1))
        for j in range(N):
            stratified[j, j], stratified[j, (j + 1) % N] = 1 / N, 1 / (N * (N - 1))  # (N - M)/(N M) for M = N - 1
        for weight, importance in (2, torch.ones(N, N)), (3, torch.full((N, N), N**-2.0)), (4, stratified):
            log_w = importance.log()[:, :, None]
            joint, product = torch.logsumexp(log_q.sum(2) + log_w[:, :, 0], 1), torch.logsumexp(log_q + log_w, 1).sum(1)
            total = total + weight * (joint - product).mean()
        covariance = torch.cov(mean.T, correction=0)
        for c in covariance, covariance + torch.diag(log_variance.exp().mean(0)):
            diagonal = c.diagonal()
            total = total + 3 * (c - torch.diag(diagonal)).pow(2).sum() + 7 * ((diagonal - 1) ** 2).sum()
        return total + 0.6 * sum((v**2).sum() for k, v in w.items() if k.endswith("weight")) / 2

    return loss


def ice_beem():
    """Score matching with noise of 0.3 and dequantised pixels (Khemakhem et al. 2020). The two factors choose g."""
    order, noise = Stream("batch"), Stream("noise")

    def loss(w):
        rows = order.shuffled(range(N))
        eps = noise.normals(N, 8, 8, 2).permute(0, 3, 1, 2)
        u = torch.tensor([(noise.uint64() >> 32) % 2**24 / 2**24 for _ in range(eps.numel())]).view(N, 8, 8, 2).permute(0, 3, 1, 2)
        y = (255 * x[rows] / 256 + u / 256 + 0.3 * eps).requires_grad_()
        g = sum(F.embedding(k, w["condition.weight"]) for k in (torch.tensor(rows) // 4, 4 + torch.tensor(rows) % 4))
        f = linear(w, "latent.code", F.softplus(linear(w, "encoder.dense1", y.flatten(1))))
        score = torch.autograd.grad((g * f).sum(), y, create_graph=True)[0]
        return ((0.3 * eps - 0.09 * score) ** 2).sum((1, 2, 3)).mean() / 2

    return loss


class Discriminator:
    """Tells codes from codes that are permuted column by column: Kim and Mnih 2018, algorithm 2. It has its own Adam."""

    def __init__(self, loss, *widths, lr, betas):
        self.permute, self.layers = Stream("permute"), []
        for k, (n, m) in enumerate(zip(widths, widths[1:])):
            name = "logits" if k == len(widths) - 2 else f"dense{k + 1}"
            stream, limit = Stream(f"init/{loss}/{name}/weight"), np.sqrt(6 / (n + m))
            weight = np.array([(2 * stream.uniform() - 1) * limit for _ in range(n * m)]).astype(np.float32).reshape(n, m)
            self.layers.append((torch.tensor(weight.T.copy()).double().requires_grad_(), torch.zeros(m, requires_grad=True)))
        self.adam = torch.optim.Adam([p for layer in self.layers for p in layer], lr=lr, betas=betas)

    def log_ratio(self, h):
        for k, (weight, bias) in enumerate(self.layers):
            h = F.linear(h if k == 0 else F.leaky_relu(h, 0.2), weight, bias)
        return h[:, 0] - h[:, 1] if h.shape[1] == 2 else h[:, 0]

    def step(self, codes, source, active=None):
        permuted = source.detach().clone()
        for c in range(permuted.shape[1]):
            rows = range(N) if active is None else active[:, c].nonzero()[:, 0].tolist()
            permuted[list(rows), c] = permuted[self.permute.shuffled(rows), c]
        self.adam.zero_grad()
        ((F.softplus(-self.log_ratio(codes.detach())) + F.softplus(self.log_ratio(permuted))).mean() / 2).backward()
        self.adam.step()


def factor_vae(w):
    """The loss, and a step of the discriminator with a second batch."""
    order, second, noise = Stream("batch"), Stream("second batch"), Stream("noise")
    judge, last = Discriminator("tc", 4, 8, 6, 2, lr=0.01, betas=(0.5, 0.9)), {}

    def sample(rows):
        h = dense(w, rows)
        mean, log_variance = linear(w, "latent.mean", h), linear(w, "latent.log-variance", h)
        return mean, log_variance, mean + (log_variance / 2).exp() * noise.normals(N, 4)

    def loss(w):
        rows = order.shuffled(range(N))
        mean, log_variance, last["z"] = sample(rows)
        return errors(w, rows, last["z"]) + divergence(mean, log_variance) + 5 * judge.log_ratio(last["z"]).mean()

    return loss, lambda progress: judge.step(last["z"], sample(second.shuffled(range(N)))[2])


def sticks(w):
    """COFHAE on sticks with one or two slopes: the second one has the second option. Then a step of the discriminator."""
    order, judge, last = Stream("batch"), Discriminator("conditional-tc", 2, 8, 1, lr=0.01, betas=(0.9, 0.999)), {}
    series, levels, truth = (torch.tensor(np.load(f"torch/sticks/{name}.npy")) for name in ("images", "levels", "values"))
    series, truth = series.double().flatten(1), truth.double()[:, 1:] / 0.0095  # the outermost level

    def encode(rows):
        h = torch.tanh(linear(w, "encoder.dense1", series[rows]))
        option = F.softmax(linear(w, "latent.option1", h) / 0.7, 1)
        return option, linear(w, "latent.value", h) * torch.stack([torch.ones(N), option[:, 1]], 1)

    def loss(w):
        rows = last["rows"] = order.shuffled(range(N))
        option, z = encode(rows)
        last["z"], last["active"] = z, torch.stack([torch.ones(N), (option[:, 1] > 0.5).double()], 1)
        y = linear(w, "decoder.out", torch.tanh(linear(w, "decoder.dense1", torch.cat([option, z], 1))))
        total = ((series[rows] - y) ** 2).sum(1).mean() + 3 * ((F.one_hot(levels[rows, 0].long(), 3)[:, 1:] - option) ** 2).sum(1).mean()
        return total + 2 * ((z - truth[rows]) ** 2).sum(1).mean() + judge.log_ratio(z).mean()

    return loss, lambda progress: judge.step(encode(last["rows"])[1], last["z"], last["active"])


def sgd(p):
    return torch.optim.SGD(p, lr=0.002, momentum=0.9)


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


def autoencoder_shapes(code, **heads):
    """Shapes of a network with a hidden layer of 8 units on each side; heads hold the widths of linear maps."""
    layers = {"encoder.dense1": (8, 128), **{k.replace("_", "."): (n, 8) for k, n in heads.items()}, "decoder.dense1": (8, code), "decoder.out": (128, 8)}
    return {f"{k}.{part}": shape for k, s in layers.items() for part, shape in (("weight", s), ("bias", s[:1]))}


train("gvae", weights(gaussian), lambda w: ada_gvae(w, 2), lambda p: torch.optim.Adam(p, lr=0.002), 10)
train("ada-ml-vae", weights(gaussian), lambda w: ml_vae(w, adaptive=True), sgd, 10)
gaussian = {"latent_mean": 4, "latent_log-variance": 4}
train("joint-vae", weights(autoencoder_shapes(9, **gaussian, latent_0_loc=3, latent_1_loc=2)), joint_vae(), sgd, 8)
train("delta-vae", weights(autoencoder_shapes(7, latent_0_loc=2, latent_0_scale=1, latent_1_loc=3, latent_1_scale=1, latent_2_loc=2,
                                              latent_2_scale=2)), delta_vae(), sgd, 8)
train("quessard", weights({"actions.angles": (4, 6), **autoencoder_shapes(4, latent_code=4)}), quessard(), sgd, 8)
train("forward-vae", weights({"actions.blocks": (4, 4), **autoencoder_shapes(4, **gaussian)}), forward_vae(), sgd, 8)
train("vae", weights(autoencoder_shapes(4, **gaussian)), vae(), sgd, 8)
w = weights(autoencoder_shapes(4, **gaussian))
loss, judge = factor_vae(w)
train("factor-vae", w, loss, sgd, 8, after=judge)
shapes = autoencoder_shapes(4, latent_value=2, latent_option1=2)
w = weights({**shapes, "encoder.dense1.weight": (8, 64), "decoder.out.weight": (64, 8), "decoder.out.bias": (64,)})
loss, judge = sticks(w)
train("sticks", w, loss, sgd, 8, after=judge)
train("simsiam", weights({
    "encoder.conv1.weight": (4, 2, 3, 3), **norm("encoder.norm1", 4), "encoder.dense1.weight": (6, 64), "encoder.dense1.bias": (6,),
    "projector.dense1.weight": (8, 6), **norm("projector.norm1", 8), "projector.dense2.weight": (8, 8), **norm("projector.norm2", 8),
    "projector.dense3.weight": (4, 8), "projector.norm3.running_mean": (4,), "projector.norm3.running_var": (4,),
    "predictor.dense1.weight": (8, 4), "predictor.dense1.bias": (8,), **norm("predictor.norm1", 8), "predictor.dense2.weight": (4, 8),
    "predictor.dense2.bias": (4,)}), simsiam, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), 8)
online = {k: s for k, s in online.items() if "head.dense1" not in k}
w = weights({**online, **norm("encoder.norm1", 4), **{"target." + k: s for k, s in online.items()}, "queue.keys": (4, 3 * N), "queue.next": (1,)})
w["queue.keys"], w["queue.next"] = F.normalize(w["queue.keys"], dim=0).float().double(), torch.zeros(1)
train("moco", w, moco, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.001), 8, after=enqueue)
train("ice-beem", weights({"encoder.dense1.weight": (8, 128), "encoder.dense1.bias": (8,), "latent.code.weight": (3, 8), "latent.code.bias": (3,),
                            "condition.weight": (8, 3)}), ice_beem(), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), 8)
w = weights(autoencoder_shapes(6, latent_0_loc=3, latent_1_loc=3))
for k in "01":
    w.update({f"latent.{k}.scale.weight": torch.zeros(1, 8), f"latent.{k}.scale.bias": torch.zeros(1)})
train("poses", w, poses, sgd, 8)
