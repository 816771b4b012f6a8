"""Fetch official files, checked before they get their name.

`pooch` does most of this, but sets no bound: of a mirror that goes on sending 50 MB it wrote all
50, and 49 kB sent under `Content-Encoding: gzip` it unpacked into 50 MB. A bound would be a
downloader of our own, which is all that stands here; and it takes 0.27 s to import (with
`requests`) where `urllib.request` takes 0.04.
"""

from __future__ import annotations

import hashlib
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from dpcore.data.official import OfficialFile
from dpcore.errors import DataUnavailable

# A classroom's own mirror: files under <mirror>/<data set>/<official name>.
MIRROR_VARIABLE = "DPCORE_MIRROR"

Progress = Callable[[int, int], None]

_TIMEOUT_SECONDS = 20.0
_CHUNK = 1 << 16


def download_file(
    official: OfficialFile,
    folder: Path,
    *,
    base_url: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download one file into `folder` under its official name.

    The file is written under a temporary name, its size and checksum are verified, and only then
    is it renamed: a file under its official name is a whole file, whenever the power went off.
    Where no official checksum is known, size alone is checked here, and what parses the file
    checks rows, columns and every value's range.

    folder: Made if it is not there.
    base_url: In place of `official.url`.
    progress: callable(done_bytes, total_bytes). `total_bytes` is 0 where nobody says how much will
        come.
    Raises `DataUnavailable` if the host cannot be reached or answers with an error, if fewer bytes
        come than were announced or more than the file can have, if the checksum is not the official
        one, or if `folder` cannot be written.
    """
    url = (base_url or official.url).rstrip("/") + "/" + official.name
    target = folder / official.name
    temporary = folder / f".{official.name}.{os.getpid()}-{threading.get_ident()}.part"
    advice = (
        f"put {official.name} into {folder} (or any data home) by hand; "
        "every other data set goes on working"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = _fetch(url, temporary, official, progress)
        if official.sha256 is not None and found != official.sha256:
            raise DataUnavailable(
                f"{url} gave a damaged or different file: its SHA-256 is {found} "
                f"where {official.sha256} is expected; {advice}"
            )
        temporary.replace(target)
    except DataUnavailable:
        raise
    except (OSError, HTTPException, ValueError) as error:
        raise DataUnavailable(
            f"{url} could not be downloaded ({_reason(error)}): {advice}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _fetch(url: str, path: Path, official: OfficialFile, progress: Progress | None) -> str:
    """Stream a URL into a file, no further than it can be long; the SHA-256 of what came."""
    digest = hashlib.sha256()
    most_bytes = official.n_bytes or official.most_bytes
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response, path.open("wb") as out:
        announced = int(response.headers.get("Content-Length") or 0)
        done = 0
        while chunk := response.read(_CHUNK):
            done += len(chunk)
            if max(done, announced) > most_bytes:
                raise OSError(f"it sends more than the {most_bytes:,} bytes it can have")
            out.write(chunk)
            digest.update(chunk)
            if progress is not None:
                progress(done, announced or official.n_bytes or 0)
    if done < announced:
        raise OSError(f"only {done:,} of {announced:,} bytes came")
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # It is the answer itself, with an open connection.
    elif isinstance(error, urllib.error.URLError):
        return f"no connection: {error.reason}"
    return str(error) or type(error).__name__
