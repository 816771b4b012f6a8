"""MNIST's files under the names that other programs give them."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from dpcore.data.official_files import locate
from dpcore.data.pictures import MNIST_FILES


@pytest.mark.parametrize("name", [
    "train-images.idx3-ubyte", "train-images.idx3-ubyte.gz", "MNIST/raw/train-images-idx3-ubyte",
    "MNIST/raw/train-images.idx3-ubyte.gz", "mnist/train-images.idx3-ubyte",
])  # fmt: skip
def test_locate_finds_mnist_by_its_other_names(name, tmp_path):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"pictures")
    content = hashlib.sha256(b"pictures").hexdigest()
    official = replace(MNIST_FILES[0], content_sha256=content)
    files = locate(official, tmp_path, ["mnist"])
    assert files is not None and files.path == tmp_path / name
    other = replace(official, content_sha256="0" * 64)
    assert (locate(other, tmp_path, ["mnist"]) is None) == (not name.startswith("mnist"))
