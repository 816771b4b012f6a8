"""kddcup99: network connections, 116 features, as in the 2012 paper's dimension.

Guessed: the three nominal columns are spread over the levels that occur in the 10 % file (3, 66
and 11), the two columns that are constant in it are dropped, and the other 36 numbers are kept:
36 + 80 = 116. Scales are guesses too: rates as they are, window counts by the caps of their
definition (511 and 255), bytes, seconds and counters by logarithm.
"""

from __future__ import annotations

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.data.official import LocalFile, OfficialFile, read_lines
from dpcore.data.readers.code_books import Column, Nominal, Number, feature_names, read_table

KDDCUP_FILE = OfficialFile(
    "kddcup.data_10_percent.gz",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/kddcup99-mld/",
    n_bytes=2_144_903,
    most_bytes=74_889_749,
    sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
    content_sha256="f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a",
)

_N_ROWS = 494_021
_N_FIELDS = 42

_SERVICES = tuple(
    "IRC X11 Z39_50 auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i "
    "efs exec finger ftp ftp_data gopher hostnames http http_443 imap4 iso_tsap klogin kshell ldap "
    "link login mtp name netbios_dgm netbios_ns netbios_ssn netstat nnsp nntp ntp_u other pm_dump "
    "pop_2 pop_3 printer private red_i remote_job rje shell smtp sql_net ssh sunrpc supdup systat "
    "telnet tftp_u tim_i time urh_i urp_i uucp uucp_path vmnet whois".split()
)
_FLAGS = tuple("OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH".split())
_ATTACKS = tuple(
    "back buffer_overflow ftp_write guess_passwd imap ipsweep land loadmodule multihop neptune "
    "nmap perl phf pod portsweep rootkit satan smurf spy teardrop warezclient warezmaster".split()
)


def _bytes(name: str, position: int) -> Number:
    return Number(name, position, highest=2.0**32, logarithmic=True)


def _counter(name: str, position: int) -> Number:
    return Number(name, position, highest=1000.0, logarithmic=True)


def _share(name: str, position: int) -> Number:
    # The task's table of features: a share of connections, or 1 if so and 0 otherwise. It gives no
    # range of seconds, bytes and counts.
    return Number(name, position, documented=True)


COLUMNS: tuple[Column, ...] = (
    Number("duration", 0, highest=86_400.0, logarithmic=True),
    Nominal("protocol_type", 1, ("icmp", "tcp", "udp")),
    Nominal("service", 2, _SERVICES),
    Nominal("flag", 3, _FLAGS),
    _bytes("src_bytes", 4),
    _bytes("dst_bytes", 5),
    _share("land", 6),
    Number("wrong_fragment", 7, highest=3.0),
    Number("urgent", 8, highest=3.0),
    _counter("hot", 9),
    _counter("num_failed_logins", 10),
    _share("logged_in", 11),
    _counter("num_compromised", 12),
    _share("root_shell", 13),
    Number("su_attempted", 14, highest=2.0),
    _counter("num_root", 15),
    _counter("num_file_creations", 16),
    _counter("num_shells", 17),
    _counter("num_access_files", 18),
    # 19 num_outbound_cmds and 20 is_host_login are zero throughout.
    _share("is_guest_login", 21),
    Number("count", 22, highest=511.0),
    Number("srv_count", 23, highest=511.0),
    _share("serror_rate", 24),
    _share("srv_serror_rate", 25),
    _share("rerror_rate", 26),
    _share("srv_rerror_rate", 27),
    _share("same_srv_rate", 28),
    _share("diff_srv_rate", 29),
    _share("srv_diff_host_rate", 30),
    Number("dst_host_count", 31, highest=255.0),
    Number("dst_host_srv_count", 32, highest=255.0),
    _share("dst_host_same_srv_rate", 33),
    _share("dst_host_diff_srv_rate", 34),
    _share("dst_host_same_src_port_rate", 35),
    _share("dst_host_srv_diff_host_rate", 36),
    _share("dst_host_serror_rate", 37),
    _share("dst_host_srv_serror_rate", 38),
    _share("dst_host_rerror_rate", 39),
    _share("dst_host_srv_rerror_rate", 40),
)
_LABEL = Nominal("connection", 41, (*_ATTACKS, "normal"))


def load_kddcup(files: tuple[LocalFile, ...]) -> Dataset:
    """All 494,021 connections of the 10 % file."""
    (file,) = files
    X, connections = read_table(read_lines(file, _N_ROWS), COLUMNS, _LABEL, _N_FIELDS, file.path)
    return Dataset(
        X=X,
        # The 2012 paper's task: normal against all attacks.
        labels=(connections == len(_ATTACKS)).astype(np.intp),
        label_names=("attack", "normal"),
        feature_names=feature_names(COLUMNS),
        provenance="All 494,021 connections of KDD Cup 1999's 10 % set, from the official 10 % "
        "file, encoded to the 2012 paper's 116 features (how is our guess).",
        # Three indicators are 1 in every row; of 36 numbers, a quarter at their top:
        # sqrt(3 + 9) = 3.46.
        public_norm_bound=3.5,
    )
