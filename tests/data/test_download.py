from __future__ import annotations

import hashlib
import socket
from dataclasses import replace

import numpy as np
import pytest

from dpcore.data import list_datasets, load_dataset, pictures
from dpcore.data.downloads import download_file
from dpcore.data.official_files import OfficialFile
from dpcore.errors import DataUnavailable

CONTENT = bytes(range(256)) * 1_000
FILE = OfficialFile("table.data", sha256=hashlib.sha256(CONTENT).hexdigest())


def test_a_whole_file_arrives_with_progress(tmp_path, server):
    server.files["/set/table.data"] = CONTENT
    steps = []
    path = download_file(
        FILE,
        tmp_path / "home" / "set",
        base_url=server.url + "/set/",
        progress=lambda done, total: steps.append((done, total)),
    )
    assert path == tmp_path / "home" / "set" / "table.data"
    assert path.read_bytes() == CONTENT
    done = [step[0] for step in steps]
    assert done == sorted(done) and steps[-1] == (len(CONTENT), len(CONTENT))
    assert len(steps) > 1


def _refused(tmp_path, base_url: str) -> str:
    with pytest.raises(DataUnavailable) as caught:
        download_file(FILE, tmp_path, base_url=base_url)
    # Neither the file nor a trace of the attempt.
    assert not list(tmp_path.iterdir())
    message = str(caught.value)
    assert f"put table.data into {tmp_path}" in message
    assert "still works" in message
    assert "\n" not in message
    return message


def test_a_damaged_file_names_both_checksums(tmp_path, server):
    server.files["/table.data"] = CONTENT[::-1]
    message = _refused(tmp_path, server.url)
    assert FILE.sha256 in message
    assert hashlib.sha256(CONTENT[::-1]).hexdigest() in message


def test_a_connection_that_breaks_off_leaves_nothing(tmp_path, server):
    server.files["/table.data"] = CONTENT
    server.missing_bytes = 1_000
    assert "only 255,000 of 256,000 bytes came" in _refused(tmp_path, server.url)


def test_a_mirror_that_goes_on_sending_is_left(tmp_path, server, monkeypatch):
    server.files["/table.data"] = CONTENT
    small, written = replace(FILE, n_bytes=100_000), []
    for announces in (True, False):
        server.announces = announces
        written.clear()
        with pytest.raises(DataUnavailable, match="more than the 100,000 bytes it can have"):
            download_file(
                small, tmp_path, base_url=server.url, progress=lambda n, _: written.append(n)
            )
        assert max(written, default=0) <= (0 if announces else 100_000)
        assert not list(tmp_path.iterdir())


def test_a_file_that_moved_away(tmp_path, server):
    assert "404" in _refused(tmp_path, server.url)


def test_no_network(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        # Bound but not listening: the connection is refused.
        assert "no connection" in _refused(tmp_path, f"http://127.0.0.1:{port}")


def test_a_mirror_that_is_no_address(tmp_path):
    assert "could not be downloaded" in _refused(tmp_path, "classroom/data")


def test_a_file_that_is_there_survives_a_failed_download(tmp_path, server):
    (tmp_path / "table.data").write_bytes(CONTENT)
    with pytest.raises(DataUnavailable):
        download_file(FILE, tmp_path, base_url=server.url)
    assert (tmp_path / "table.data").read_bytes() == CONTENT


@pytest.mark.parametrize(("word", "complaint"), [("nan", "finite"), ("4e7", "beyond 100,000")])
def test_numerals_that_cannot_be_are_refused(tmp_path, small_mfeat, word, complaint):
    rows = small_mfeat.files["/mfeat/mfeat-fac"].splitlines()
    rows[4] = rows[4].replace(b"1.5", word.encode(), 1)
    small_mfeat.files["/mfeat/mfeat-fac"] = b"\n".join(rows)
    with pytest.raises(DataUnavailable, match=f"mfeat-fac .* row 5 .*{complaint}"):
        load_dataset("mfeat", tmp_path)


@pytest.fixture
def small_mfeat(monkeypatch, server):
    """Return mfeat in the form of its server, with 20 rows."""
    monkeypatch.setattr(pictures, "_N_NUMERALS", 20)
    monkeypatch.setattr(pictures, "_ROWS_PER_DIGIT", 2)
    monkeypatch.setenv("DPCORE_MIRROR", server.url)
    for view, (n_features, _) in pictures.VIEWS.items():
        rows = "\n".join("  ".join(["1.5"] * n_features) for _ in range(20))
        server.files[f"/mfeat/mfeat-{view}"] = rows.encode()
    return server


def _status(home):
    return next(status for status in list_datasets(home) if status.name == "mfeat")


def test_a_data_set_is_fetched_once_and_ready_from_then_on(tmp_path, small_mfeat):
    assert not _status(tmp_path).ready
    steps = []
    dataset = load_dataset("mfeat", tmp_path, progress=lambda *step: steps.append(step))
    assert dataset.X.shape == (20, 649)
    assert len(small_mfeat.requests) == len(steps) == 6
    assert _status(tmp_path).ready
    again = load_dataset("mfeat", tmp_path, download=False)
    np.testing.assert_array_equal(again.X, dataset.X)
    assert len(small_mfeat.requests) == 6


def test_a_portals_page_does_not_stay_under_an_official_name(tmp_path, small_mfeat):
    small_mfeat.files["/mfeat/mfeat-kar"] = b"<html>please log in</html>"
    with pytest.raises(DataUnavailable, match="mfeat-kar"):
        load_dataset("mfeat", tmp_path)
    assert not _status(tmp_path).ready


def test_without_a_network_other_data_sets_go_on_working(tmp_path, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("DPCORE_MIRROR", f"http://127.0.0.1:{closed.getsockname()[1]}")
        with pytest.raises(DataUnavailable, match="train-images-idx3-ubyte.gz into"):
            load_dataset("fashion-mnist", tmp_path)
    assert load_dataset("digits", tmp_path).n_samples == 1797


def test_nothing_is_fetched_unless_allowed(tmp_path, small_mfeat):
    with pytest.raises(DataUnavailable, match="Put mfeat-fac, .* into .*mfeat"):
        load_dataset("mfeat", tmp_path, download=False)
    assert not small_mfeat.requests
