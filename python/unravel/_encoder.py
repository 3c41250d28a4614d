"""A run's encoder and decoder."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._evaluate import _codes, array_of
from ._program import ConfigError, Error, call
from ._train import Run


class Encoder:
    """The networks of a trained run.

    ``weights`` are "final", "best" (the config's train.keep.best) or "average" (train.average).
    """

    def __init__(self, run: Run | str | os.PathLike[str], weights: str = "final"):
        self.run = run if isinstance(run, Run) else Run(run)
        if weights not in ("final", "best", "average"):
            raise ConfigError(f"weights {weights!r} are unknown; want final, best or average")
        self._flags = [f"--run={self.run.folder}"] + ([] if weights == "final" else [f"--{weights}"])

    def encode(self, images: ArrayLike) -> NDArray[np.float32]:
        """Return the codes [n, d] of images [n, height, width, channels] or [n, height, width].

        uint8 counts from 0 to 255, and floats from 0 to 1. Images of a real-valued data set are any floats.
        """
        if np.ma.is_masked(images):
            raise ConfigError("images have masked values; want a number for each pixel")
        array = array_of(images, "images")
        if array.ndim == 3:
            array = array[..., None]
        if array.ndim != 4:
            raise ConfigError(f"images have shape {list(array.shape)}; want [n, height, width, channels], or no channels")
        if array.dtype != np.uint8 and array.dtype.kind != "f":
            raise ConfigError(f"images are of type {array.dtype}; want uint8 or floats")
        if len(array) == 0:
            raise ConfigError("there are no images; want at least 1")
        options = ["--option=channels=last", "--option=rows=first"]
        if array.dtype == np.uint8:
            options.append("--option=scale=255")  # also of images that are all dark
        with tempfile.TemporaryDirectory(prefix="unravel") as temporary:
            path, out = Path(temporary) / "images.npy", Path(temporary) / "codes.npy"
            np.save(path, np.ascontiguousarray(array))
            try:
                call(["encode", *self._flags, *options, f"--images={path}", f"--out={out}"], temporary=temporary)
            except Error as error:
                message = error.message
                for found, instead in _WORDING:
                    message = re.sub(found, instead, message)
                raise type(error)(message, error.code, error.log) from None
            return _loaded(out)

    def decode(self, codes: ArrayLike) -> NDArray[np.float32]:
        """Return the images [n, height, width, channels] of codes [n, d]; an Error if the model has no decoder."""
        array = array_of(codes, "codes")
        if array.ndim != 2:
            raise ConfigError(f"codes have shape {list(array.shape)}; want [n, d], a row for each image")
        with tempfile.TemporaryDirectory(prefix="unravel") as temporary:
            path = _codes(Path(temporary) / "codes", array)
            call(["decode", *self._flags, "--no-gif", f"--codes={path}", f"--out={temporary}"], temporary=temporary)
            return _loaded(Path(temporary) / "decoded.npy")


_WORDING = [  # of the command, and of encode
    (r" \(options KEY=VALUE .*?\)", ""),
    (r"dataset grid: images\.npy \(.*?\): ", ""),
    (r"(want 0 to 1), .*", r"\1, or uint8 from 0 to 255"),
    (r"^images: images has images", "images: there are images"),
]


def _loaded(path: Path) -> NDArray[np.float32]:
    array: Any = np.load(path)
    return np.asarray(array, dtype=np.float32)
