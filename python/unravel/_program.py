"""Find and run the program."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

_USAGE = 2  # exit code of a mistake in the command line or the config


class Error(Exception):
    """The program has failed.

    ``code`` is its exit code, ``message`` its last message, and ``log`` all that it wrote to standard error.
    """

    def __init__(self, message: str, code: int = 1, log: str = ""):
        super().__init__(message)
        self.message = message
        self.code = code
        self.log = log


class ConfigError(Error):
    """A config, an option or an argument is wrong. Nothing was computed."""

    def __init__(self, message: str, code: int = _USAGE, log: str = ""):
        super().__init__(message, code, log)


def program() -> str:
    """Return the path of the program: the wheel's, else the variable UNRAVEL, else ``unravel`` on PATH."""
    name = "unravel.exe" if os.name == "nt" else "unravel"
    own = Path(__file__).parent / "bin" / name
    if own.is_file():
        return str(own)
    named = os.environ.get("UNRAVEL")
    if named:
        found = shutil.which(named)
        if found is None:
            raise Error(f"the variable UNRAVEL names {named}, which is no program")
        return os.path.abspath(found)
    found = shutil.which(name)
    if found is None:
        raise Error("there is no program unravel; want a wheel with it, the variable UNRAVEL, or unravel on PATH")
    return found


def call(args: Sequence[str], log: Callable[[str], Any] | None = None, temporary: str = "") -> str:
    """Run a command and return its standard output; ``log`` receives each line of standard error.

    Files in the folder ``temporary`` are arrays of the caller: messages name them without the folder.

    A KeyboardInterrupt, or any exception of ``log``, asks the program to save and stop, waits for it and goes on. The
    program has a process group of its own: a terminal's ctrl-C would otherwise reach it twice, which kills it.
    """
    new_group: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        new_group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined]
    lines: list[str] = []
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [program(), *args], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
            encoding="utf-8", errors="replace", **new_group)
        try:
            for line in _lines(process, lines, temporary):
                if log is not None:
                    log(line)
            process.wait()
        finally:
            _stop(process, lines)
        out.seek(0)
        text = out.read().decode("utf-8")
    if process.returncode != 0:
        raise _error(process.returncode, lines)
    return text


def _lines(process: subprocess.Popen[str], lines: list[str], temporary: str = "") -> Iterator[str]:
    assert process.stderr is not None
    for line in process.stderr:
        line = line.rstrip("\n")
        lines.append(line.replace(temporary + os.sep, "") if temporary else line)
        yield lines[-1]


def _stop(process: subprocess.Popen[str], lines: list[str]) -> None:
    """End a program that still runs: it saves after a first signal, and ends at once after a second one."""
    while process.poll() is None:
        process.send_signal(signal.CTRL_BREAK_EVENT if os.name == "nt" else signal.SIGINT)  # type: ignore[attr-defined]
        try:
            for _ in _lines(process, lines):
                pass
            process.wait()
        except KeyboardInterrupt:
            continue
    if process.stderr is not None:
        process.stderr.close()


def _error(code: int, lines: list[str]) -> Error:
    log = "\n".join(lines)
    starts = [i for i, line in enumerate(lines) if line.startswith("unravel: ")]
    last = lines[starts[-1]:] if starts else lines[-1:]
    message = "\n".join(line for line in last if not (line.startswith("See unravel ") and line.endswith("--help.")))
    message = message.removeprefix("unravel: ") or f"unravel ended with the exit code {code}"
    if "`unravel " not in message:
        message = _FLAG.sub(lambda flag: _ARGUMENTS.get(flag[1], flag[1].replace("-", "_")), message)
    return ConfigError(message, code, log) if code == _USAGE else Error(message, code, log)


_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_ARGUMENTS = {"resume": "resume=True", "option": "options"}  # flags whose arguments have other names

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}  # YAML reads them as other than text


def text_of(value: Any) -> str:
    """Return a value as YAML in one line. NumPy's numbers and arrays, and paths, count as Python's."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, default=plain)


def plain(value: Any) -> Any:
    """Return a value for JSON in place of one that JSON lacks."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise ConfigError(f"{type(value).__name__} is no value of a config: {value!r}; want numbers, text, lists and dicts")


def assignments(values: Mapping[str, Any]) -> list[str]:
    """Return ``key=value`` for each value."""
    return [f"{key}={text_of(value)}" for key, value in values.items()]
