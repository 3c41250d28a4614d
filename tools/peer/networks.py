"""Networks and training steps in PyTorch, for steps.py."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def glorot(net):
    """Keras' defaults: Glorot-uniform kernels, zero biases."""
    for m in net.modules():
        if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.xavier_uniform_(m.weight)
            nn.init.zeros_(m.bias)
    return net


class Deconv(torch.autograd.Function):
    """Transposed convolution as the input gradient of a convolution.

    torch 1.13 sends conv_transpose2d to a slow column kernel; written this way
    all three products (forward, input, weight) go to oneDNN.
    """

    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        shape = (x.shape[0], w.shape[1], 2 * x.shape[2], 2 * x.shape[3])
        like = x.new_empty(1).expand(shape)  # only its shape is used
        y = torch.ops.aten.convolution_backward(
            x, like, w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [True, False, False])[0]
        return y + b.view(1, -1, 1, 1)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = F.conv2d(g, w, None, 2, 1)
        gw = torch.ops.aten.convolution_backward(
            x, g, w, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False])[1]
        return gx, gw, g.sum((0, 2, 3))


class FastConvTranspose(nn.ConvTranspose2d):
    def forward(self, x):
        return Deconv.apply(x, self.weight, self.bias)


CONV_TRANSPOSE = nn.ConvTranspose2d  # steps.py swaps it


def conv_encoder(channels):
    """Table 1 of the LSBD-VAE paper; the 256 units before the heads."""
    layers, c = [], channels
    for w in (32, 32, 64, 64):
        layers += [nn.Conv2d(c, w, 4, 2, 1), nn.ReLU()]
        c = w
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(c * 16, 256), nn.ReLU())


def conv_decoder(z, channels):
    layers = [nn.Linear(z, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU(), nn.Unflatten(1, (64, 4, 4))]
    for a, b in ((64, 64), (64, 32), (32, 32)):
        layers += [CONV_TRANSPOSE(a, b, 4, 2, 1), nn.ReLU()]
    return nn.Sequential(*layers, CONV_TRANSPOSE(32, channels, 4, 2, 1))  # logits


def mlp(sizes, act):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


class VAE(nn.Module):
    """Gaussian VAE, Bernoulli reconstruction from logits."""

    def __init__(self, channels, z):
        super().__init__()
        self.enc, self.dec = conv_encoder(channels), conv_decoder(z, channels)
        self.head = nn.Linear(256, 2 * z)

    def loss(self, x):
        mu, logvar = self.head(self.enc(x)).chunk(2, 1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        rec = F.binary_cross_entropy_with_logits(self.dec(z), x, reduction="sum")
        kl = -0.5 * torch.sum(1 + logvar - mu.square() - logvar.exp())
        return (rec + kl) / len(x)


class LSBDVAE(nn.Module):
    """K circles as latent space; log t in (lo, hi) through tanh, heads start at 0."""

    def __init__(self, channels=1, k=2, log_t=(-10.0, -9.0), gamma=100.0, steps=10):
        super().__init__()
        self.enc, self.dec = conv_encoder(channels), conv_decoder(2 * k, channels)
        self.loc, self.scale = nn.Linear(256, 2 * k), nn.Linear(256, k)
        glorot(self)
        nn.init.zeros_(self.scale.weight)
        self.k, self.gamma, self.steps = k, gamma, steps
        self.half, self.mid = (log_t[1] - log_t[0]) / 2, (log_t[1] + log_t[0]) / 2

    def encode(self, x):
        h = self.enc(x)
        mu = F.normalize(self.loc(h).view(-1, self.k, 2), dim=-1)
        return mu, self.half * torch.tanh(self.scale(h)) + self.mid

    def sample(self, mu, log_t):
        """Ten projected Gaussian steps: a random walk of length t on each circle."""
        std = torch.exp(0.5 * log_t).unsqueeze(-1) / math.sqrt(self.steps)
        for _ in range(self.steps):
            mu = F.normalize(mu + std * torch.randn_like(mu), dim=-1)
        return mu

    def kl(self, log_t):
        c = -0.5 * math.log(2 * math.pi) - 0.5 + math.log(2 * math.pi)
        return (c - 0.5 * log_t).sum(-1).mean()

    def rec(self, z, x):
        """Gaussian with standard deviation 1/sqrt(2), without its constant."""
        y = torch.sigmoid(self.dec(z.flatten(1)))
        return (y - x).square().sum() / len(x)

    def labelled(self, x, angle):
        """x: (B*M, C, H, W) in M-groups; angle: (B, M, K) from the first of each."""
        mu, log_t = self.encode(x)
        z = self.sample(mu, log_t)
        b, m, k = angle.shape
        g = torch.stack([angle.cos(), angle.sin()], -1)
        zc = z.view(b, m, k, 2)
        a, c = zc.unbind(-1)
        cos, sin = g.unbind(-1)
        back = torch.stack([cos * a + sin * c, cos * c - sin * a], -1)
        anchor = F.normalize(back.sum(1, keepdim=True), dim=-1)
        a, c = anchor.unbind(-1)
        fwd = torch.stack([cos * a - sin * c, sin * a + cos * c], -1)
        cosine = (zc * fwd).sum(-1).clamp(-1, 1)
        equi = (2 * (1 - cosine)).sum((1, 2)).mean()
        return self.rec(fwd.reshape(-1, k, 2), x) + self.kl(log_t) + self.gamma * equi


class COFHAE:
    """MLP autoencoder and a discriminator on column-permuted codes, as COFHAE."""

    def __init__(self, x=64, z=10, hidden=256, layers=6, width=1000, adversarial=True,
                 recon=100.0, penalty=10.0):
        self.enc = mlp([x, hidden, hidden, z], nn.Softplus)
        self.dec = mlp([z, hidden, hidden, x], nn.Softplus)
        self.main = [*self.enc.parameters(), *self.dec.parameters()]
        self.opt = torch.optim.Adam(self.main, 1e-3)
        self.adversarial, self.recon, self.penalty = adversarial, recon, penalty
        if adversarial:
            self.disc = mlp([z] + [width] * layers + [1], lambda: nn.LeakyReLU(0.2))
            self.dopt = torch.optim.Adam(self.disc.parameters(), 1e-3)

    def step(self, x):
        z = self.enc(x)
        loss = self.recon * (self.dec(z) - x).square().sum(1).mean()
        if self.adversarial:
            for p in self.disc.parameters():  # the main step leaves D alone
                p.requires_grad_(False)
            loss = loss + self.penalty * self.disc(z).mean()
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        if self.adversarial:
            for p in self.disc.parameters():
                p.requires_grad_(True)
            real = z.detach()
            perm = torch.argsort(torch.rand_like(real), 0)
            both = torch.cat([real, real.gather(0, perm)])
            logits = self.disc(both)
            target = torch.zeros_like(logits)
            target[:len(real)] = 1
            dloss = F.binary_cross_entropy_with_logits(logits, target)
            self.dopt.zero_grad(set_to_none=True)
            dloss.backward()
            self.dopt.step()


def byol_encoder(d=1000, groups=4):
    """Table 2 of the contrastive paper: Conv-ReLU-GroupNorm blocks; the 4x4
    kernel of the fifth one sees the whole 4x4 map (no padding), so D is 1x1."""
    layers, c = [], 3
    for w, k, s, p in ((32, 4, 2, 1), (32, 4, 2, 1), (64, 4, 2, 1), (64, 4, 2, 1),
                       (128, 4, 2, 0), (d, 1, 1, 0)):
        layers += [nn.Conv2d(c, w, k, s, p), nn.ReLU(), nn.GroupNorm(groups, w)]
        c = w
    return nn.Sequential(*layers, nn.Flatten())


def head(a, hidden, b):
    return nn.Sequential(nn.Linear(a, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, b))


class BYOL:
    def __init__(self, d=1000, hidden=4096, out=256, predictor=4096, tau=0.99, layout=None):
        import copy
        self.online = nn.Sequential(byol_encoder(d), head(d, hidden, out))
        if layout is not None:
            self.online.to(memory_format=layout)
        self.predictor = head(out, predictor, out)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.params = [*self.online.parameters(), *self.predictor.parameters()]
        self.opt = torch.optim.Adam(self.params, 3e-4)
        self.tau = tau

    def step(self, a, b):
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        loss = (4 - 2 * F.cosine_similarity(pa, tb) - 2 * F.cosine_similarity(pb, ta)).mean()
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            torch._foreach_mul_(self.ema()[0], self.tau)
            torch._foreach_add_(*self.ema(), alpha=1 - self.tau)

    def ema(self):
        return list(self.target.parameters()), list(self.online.parameters())


class Block(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.projection = None
        if stride > 1 or channels != out:
            self.projection = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        y += x if self.projection is None else self.projection(x)
        return F.relu(y, inplace=True)


def resnet18():
    """The encoder resnet18, for small images."""
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    channels = 64
    for i in range(4):
        for stride in (1 + (i > 0), 1):
            layers.append(Block(channels, 64 << i, stride))
            channels = 64 << i
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
