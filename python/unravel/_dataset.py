"""Data sets as arrays."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ._evaluate import flags
from ._program import assignments, call


@dataclass(frozen=True)
class Factor:
    """A factor of variation."""

    name: str
    kind: str  # circular, ordinal or categorical
    size: int  # number of levels
    values: NDArray[np.float64]  # by level, in the factor's units
    angles: NDArray[np.float64] | None  # by level, in radians; None: the factor is not circular


@dataclass(frozen=True)
class DataSet:
    """Images with their factors, in the order of the program."""

    name: str
    images: NDArray[Any]  # [n, height, width, channels]: uint8, or float32 in [0, 1] unless real
    levels: NDArray[np.int64]  # [n, k]; -1 is unknown
    factors: NDArray[Any]  # [n, k]: values; NaN is unknown
    names: Sequence[str]  # of the factors
    kinds: Sequence[str]  # of the columns of factors, for the argument types of evaluate
    description: Sequence[Factor]
    real: bool  # images hold real numbers, not pixels
    raw: Mapping[str, Any] = field(repr=False)  # set.json

    def __len__(self) -> int:
        return len(self.levels)


def dataset(
    name: str,
    /,
    *,
    folder: str | os.PathLike[str] | None = None,
    seed: int = 0,
    data: str | os.PathLike[str] | None = None,
    **options: Any,
) -> DataSet:
    """Return a data set, such as ``dataset("square", size=32)``.

    ``options`` are the options that ``unravel list dataset NAME`` shows. ``seed`` is for sets of random images.
    Without ``folder``, the images are in memory. With it, they stay there as files and are mapped into memory.
    ``data`` is the folder of public data sets.
    """
    with tempfile.TemporaryDirectory(prefix="unravel") as temporary:
        out = Path(temporary if folder is None else folder)
        text = call(["data", "export", "--json", *flags(out=out, seed=seed, data=data), name, *assignments(options)])
        return _read(json.loads(text), out, "r" if folder is not None else None)


def _read(about: Mapping[str, Any], folder: Path, mode: Any) -> DataSet:
    parts = [np.load(folder / file, mmap_mode=mode) for file in about["images"]]
    if len(parts) > 1:  # one array of several files needs a copy
        parts = [np.concatenate(parts)]
    factors, kinds = about["factors"], [f["column"] for f in about["factors"]]
    values = folder / "values.npy"  # exact values of a hierarchical set
    if values.exists():
        kinds = [k if k == "categorical" else "continuous" for k in kinds]
    return DataSet(
        name=about["dataset"], images=parts[0], levels=np.load(folder / "levels.npy"),
        factors=np.load(values if values.exists() else folder / "factors.npy"),
        names=[f["name"] for f in factors], kinds=kinds,
        description=[_factor(f) for f in factors], real=about["real"], raw=about)


def _factor(f: Mapping[str, Any]) -> Factor:
    size, angles = f["size"], None
    if f["kind"] == "circular":
        angles = np.array(f.get("angles") or 2 * np.pi * np.arange(size) / size)
    values = np.array(f.get("values") or range(size), dtype=np.float64)
    return Factor(f["name"], f["kind"], size, values, angles)
