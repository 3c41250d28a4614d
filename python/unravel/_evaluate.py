"""Measure codes."""

from __future__ import annotations

import csv
import json
import operator
import os
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._program import ConfigError, assignments, call, plain

if TYPE_CHECKING:
    import pandas

Names = Union[str, Iterable[str]]


@dataclass(frozen=True)
class Metric:
    """The result of a metric."""

    name: str
    value: float | None  # None: undefined for these codes
    better: str  # higher, lower, or "" if neither is
    parts: Mapping[str, NDArray[np.float64]]  # values by part, such as per_factor
    labels: Mapping[str, Sequence[str]]  # names of a part's values
    grids: Mapping[str, NDArray[np.float64]]  # matrices, such as the importance of each column for each factor
    basis: Mapping[str, Any]  # rows used, rows left out, groups
    chance: Mapping[str, Any] | None  # mean and deviation for shuffled rows
    interval: Mapping[str, Any] | None
    notes: Sequence[str]
    raw: Mapping[str, Any] = field(repr=False)  # everything, as ``unravel eval --json`` prints it


class Results(dict[str, Metric]):
    """Results by the name of the metric."""

    log: str = ""  # the remarks of the program, such as the kinds of the factors

    def to_frame(self) -> pandas.DataFrame:
        """Return a table with a row for each metric. It needs pandas."""
        import pandas

        rows = []
        for m in self.values():
            chance, interval = m.chance or {}, m.interval or {}
            rows.append({
                "metric": m.name, "value": m.value, "better": m.better, "rows": m.basis.get("rows"),
                "chance": chance.get("mean"), "deviation": chance.get("deviation"), "differs": chance.get("differs"),
                "low": interval.get("low"), "high": interval.get("high"),
            })
        columns = ["metric", "value", "better", "rows", "chance", "deviation", "differs", "low", "high"]
        return pandas.DataFrame(rows, columns=columns).set_index("metric")


def metrics_of(results: Iterable[Mapping[str, Any]]) -> Results:
    """Read the results of a command's JSON."""
    read = Results()
    for r in results:
        parts, grids = r.get("parts") or [], r.get("grids") or []
        read[r["name"]] = Metric(
            name=r["name"], value=r.get("value"), better=r.get("better", ""),
            parts={p["name"]: np.array(p["values"], dtype=np.float64) for p in parts},
            labels={p["name"]: p["labels"] for p in parts if p.get("labels")},
            grids={g["name"]: np.array(g["values"], dtype=np.float64) for g in grids},
            basis=r.get("basis") or {}, chance=r.get("chance"), interval=r.get("interval"),
            notes=r.get("notes") or [], raw=r)
    return read


def evaluate(
    codes: ArrayLike | None = None,
    factors: Any = None,
    metrics: Names = "all",
    *,
    names: Sequence[str] | None = None,
    types: Names | None = None,
    like: str | None = None,
    options: Mapping[str, Any] | None = None,
    blocks: str | Sequence[Sequence[int]] | None = None,
    bins: int | None = None,
    chance: int | None = None,
    interval: float | None = None,
    repeats: int | None = None,
    rotations: ArrayLike | None = None,
    hierarchy: Any = None,
    true_hierarchy: Any = None,
    components: ArrayLike | None = None,
    pairs: Iterable[tuple[int, int, str, str]] | None = None,
    conflicts: str | None = None,
    noise: float | None = None,
    run: str | os.PathLike[str] | None = None,
    weights: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Results:
    """Measure codes [n, d] by factors [n, k], or the codes of a run.

    ``factors`` are numbers, text, a structured array, a mapping from names to columns, or a pandas DataFrame. NaN and
    empty text are unknown. ``types`` has one kind for all factors or one for each: ordinal, circular, circular:PERIOD,
    categorical or continuous. ``options`` has options of metrics such as ``{"downstream.top": 2}``, also their seeds.
    ``blocks`` has the code columns of each factor. ``hierarchy`` and ``true_hierarchy`` are lists as in the JSON files
    of ``unravel eval``, or paths. ``pairs`` are answers (row, row, factor, "same" or "different") in place of factors.
    With ``run``, ``weights`` may be "best" or "average". ``out`` is a folder for tables and pictures.

    The other arguments, and the defaults, are those of ``unravel eval``.
    """
    _same_order(codes, *(factors.values() if isinstance(factors, Mapping) else [factors]))
    run = getattr(run, "folder", run)
    if metrics == "all" and run is not None:
        metrics = ()  # the metrics of the run's config
    with tempfile.TemporaryDirectory(prefix="unravel") as temporary:
        folder = Path(temporary)
        args = ["eval", "--json", *flags(
            run=run, like=like, bins=bins, chance=chance, interval=interval, repeats=repeats, conflicts=conflicts,
            noise=noise, metrics=_joined(metrics), types=_joined(types), out=out)]
        if weights not in (None, "final"):
            args.append(f"--{weights}")
        for option in assignments(options or {}):
            args += ["--option", option]
        if blocks is not None:
            args.append(f"--blocks={blocks if isinstance(blocks, str) else _blocks(blocks)}")
        if codes is not None:
            args += ["--codes", _codes(folder / "codes", codes)]
        if factors is not None:
            args += ["--factors", _factors(folder / "factors", factors, names)]
        for flag, array in {"rotations": rotations, "components": components}.items():
            if array is not None:
                np.save(folder / flag, array_of(array, flag))
                args += [f"--{flag}", str(folder / f"{flag}.npy")]
        for flag, tree in {"hierarchy": hierarchy, "true-hierarchy": true_hierarchy}.items():
            if tree is not None:
                args += [f"--{flag}", _json(folder / f"{flag}.json", tree)]
        if pairs is not None:
            rows = pairs.itertuples(index=False) if hasattr(pairs, "itertuples") else pairs  # of a DataFrame
            args += ["--pairs", _table(folder / "pairs.csv", None, rows)]
        lines: list[str] = []
        read = json.loads(call(args, lines.append, temporary))["metrics"]
    results = metrics_of(read.values())
    results.log = "\n".join(lines)
    return results


def flags(**values: Any) -> list[str]:
    """Return --name value for each value other than None."""
    return [f"--{name}={value}" for name, value in values.items() if value not in (None, "")]


def _joined(names: Names | None) -> str:
    return names if isinstance(names, str) else ",".join(names or ())


def _blocks(blocks: Sequence[Sequence[int]]) -> str:
    try:
        columns = [list(block) for block in blocks]
        if any(isinstance(c, (bool, np.bool_)) for block in columns for c in block):
            raise TypeError
        return ";".join(",".join(str(operator.index(c)) for c in block) for block in columns)
    except TypeError:
        raise ConfigError(f"blocks are {blocks}; want the columns of each factor, in order, such as [[0, 1], [2]]") from None


def _same_order(*tables: Any) -> None:
    """Check that tables of pandas with the same index have it in the same order: rows belong together by position."""
    indices = [t.index for t in tables if hasattr(getattr(t, "index", None), "equals")]
    for index in indices[1:]:
        if not index.equals(indices[0]) and Counter(index) == Counter(indices[0]):
            raise ConfigError("rows have the same index in different orders; want one order, such as factors.loc[codes.index]")


def _codes(path: Path, codes: ArrayLike) -> str:
    """Write codes. A first column 0, 1, 2, ... needs a name, or the program takes it for an index."""
    array = array_of(codes, "codes")
    if array.dtype.kind not in "fiub":
        raise ConfigError(f"codes are of type {array.dtype}; want numbers")
    if array.ndim != 2:
        raise ConfigError(f"codes have shape {list(array.shape)}; want [n, d], a row for each image")
    if _counts(array):
        return _table(path.with_suffix(".csv"), [f"z{i}" for i in range(array.shape[1])], array.tolist())
    np.save(path, array)
    return f"{path}.npy"


def array_of(values: Any, what: str) -> NDArray[Any]:
    """Return an array of values, also of a tensor of PyTorch with a gradient, on a GPU or in bfloat16."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    try:
        return np.asarray(_unmasked(values))
    except ValueError as error:
        raise ConfigError(f"{what}: {error}; want one array of numbers, with equal shapes in all rows") from None


def _unmasked(array: Any) -> Any:
    """Return an array with NaN, or None for text, at its masked values."""
    if not isinstance(array, np.ma.MaskedArray) or array.dtype.names is not None:
        return array
    if not np.ma.is_masked(array):
        return array.data
    if array.dtype.kind in "fiub":
        return array.astype(np.float64).filled(np.nan)
    return array.astype(object).filled(None)


def _column(values: Any, name: Any) -> NDArray[Any]:
    """Return a factor's values; words of an ordered categorical of pandas count 0, 1, 2, ... in its order."""
    kind = getattr(values, "dtype", None)
    if getattr(kind, "ordered", False) and getattr(kind, "categories").dtype.kind == "O":
        codes = np.asarray(getattr(values, "cat", values).codes, dtype=np.float64)
        return np.where(codes < 0, np.nan, codes)
    array = array_of(values, f"factor {name}")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ConfigError(f"factor {name} has shape {list(array.shape)}; want [n], a value for each row of the codes")
    if array.dtype.kind == "c":
        raise ConfigError(f"factor {name} is of type {array.dtype}; want real numbers or text")
    return array


def _counts(array: NDArray[Any]) -> bool:
    return array.ndim == 2 and 0 < array.size and np.array_equal(array[:, 0], np.arange(len(array)))


def _factors(path: Path, factors: Any, names: Sequence[str] | None) -> str:
    """Write factors: numbers without names as .npy, everything else as a table with names."""
    columns: Any = None
    if hasattr(factors, "columns") and hasattr(factors, "itertuples"):  # a DataFrame
        names = list(factors.columns) if names is None else names
        columns = [factors.iloc[:, i] for i in range(factors.shape[1])]
    elif isinstance(factors, Mapping):
        names = list(factors) if names is None else names
        columns = list(factors.values())
    elif getattr(getattr(factors, "dtype", None), "ordered", False):  # a categorical or a Series of pandas
        columns = [factors]
    else:
        array = _unmasked(factors)
        if not isinstance(array, np.ma.MaskedArray):  # fields have masks of their own
            array = array_of(array, "factors")
        if array.dtype.names is not None:
            names = list(array.dtype.names) if names is None else names
            columns = [array[n] for n in array.dtype.names]
        else:
            if array.ndim == 1:
                array = array[:, None]
            if array.ndim != 2:
                raise ConfigError(f"factors have shape {list(array.shape)}; want [n, k], a row for each row of the codes")
            if names is None and array.dtype.kind in "fiub" and not _counts(array):
                np.save(path, array)
                return f"{path}.npy"
            columns = [array[:, j] for j in range(array.shape[1])]
    if names is None:
        names = [f"factor{j}" for j in range(len(columns))]
    if len(names) != len(columns):
        raise ConfigError(f"names lists {len(names)}; want one for each of the {len(columns)} factors")
    columns = [_column(c, n) for c, n in zip(columns, names)]
    if len({len(c) for c in columns}) > 1:
        raise ConfigError(f"factors have columns of {[len(c) for c in columns]} rows; want equally many")
    return _table(path.with_suffix(".csv"), [_name(n) for n in names], zip(*(c.tolist() for c in columns)))


def _name(name: Any) -> str:
    """Return a name that the program does not take for a number."""
    text = str(name).strip()
    try:
        float(text or "0")
    except ValueError:
        return text
    return f"factor {text}".strip()


def _table(path: Path, names: Sequence[str] | None, rows: Iterable[Iterable[Any]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)  # the program looks for separators outside quotes
        if names is not None:
            table.writerow(names)
        for row in rows:
            table.writerow([_field(v) for v in row])
    return str(path)


def _field(value: Any) -> Any:
    if isinstance(value, bytes):  # text of HDF5
        value = value.decode("utf-8", "replace")
    if value is None or type(value).__name__ == "NAType" or value != value:  # pandas' NA, NaN or NaT
        return ""
    return int(value) if isinstance(value, (bool, np.bool_)) else value


def _json(path: Path, tree: Any) -> str:
    if isinstance(tree, (str, os.PathLike)):
        return os.fspath(tree)
    path.write_text(json.dumps(tree, default=plain), encoding="utf-8")
    return str(path)
