"""What travelled between the sites and the aggregator."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import streamlit as st

from dpcore.experiments.engine.experiment import Row
from dpcore.experiments.pca.sentences import bytes_in_words
from dpcore.figures.tradeoffs.messages import network_svg
from dpcore.pca.protocols.register import PROTOCOLS
from pages.widgets.charts import is_dark


def travelled(rows: Sequence[Row], whole: int, raw: int) -> None:
    """Bytes of each protocol shown, against sending whole matrices and raw rows.

    rows: One a protocol.
    whole, raw: Bytes of whole matrices and of raw rows under the same settings.
    """
    lead = rows[0]
    sent = bytes_in_words(lead["bytes_per_site"])
    picture, table = st.columns([2, 3], gap="large", vertical_alignment="center")
    chain = PROTOCOLS[lead["protocol"]].is_chain
    svg = network_svg(
        lead["sites"], sent, protocol=lead["protocol"], is_chain=chain, dark=is_dark()
    )
    how = "hand on {} from one to the next" if chain else "each send {} to one aggregator"
    picture.html(
        f'<img src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" '
        f'style="width:100%" alt="{lead["sites"]} sites {how.format(sent)}.">'
    )
    lines = (
        (
            PROTOCOLS[row["protocol"]].title,
            bytes_in_words(row["bytes_sent"]),
            str(row["n_rounds"]),
            f"{_share(row['bytes_sent'], whole)} / {_share(row['bytes_sent'], raw)}",
        )
        for row in rows
    )
    head = ("Protocol", "Sent", "Rounds", "Of matrices / rows")
    table.markdown(
        "\n".join(f"| {' | '.join(line)} |" for line in (head, ("--",) * len(head), *lines))
    )
    table.caption("The last column: the share of what whole matrices, and raw rows, would take.")


def _share(part: int, whole: int) -> str:
    ratio = part / whole
    return f"{ratio:.0%}" if ratio < 10 else f"{ratio:,.0f} ×"
