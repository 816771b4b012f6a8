"""Entry point of the dashboard: page configuration, sidebar and navigation."""

import os
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from pages import first_style, server_log, server_memory, streamlit_private

_ASSETS = Path(__file__).parent / "assets"


def main() -> None:
    """Draw the page that the address names, with its sidebar."""
    from pages import background, links, navigation, sidebar
    from pages.components import notices

    st.set_page_config(
        page_icon=str(_ASSETS / "icon.png"),
        layout="wide",
        initial_sidebar_state="auto",
    )
    with background.page_run():
        notices.apply_style()
        current = st.navigation(navigation.menu(), position="top")
        entry = navigation.entry_of(current)
        st.set_page_config(page_title=entry.tab_title)
        st.logo(_ASSETS / "mark.svg", size="large")
        links.read_link(current)
        messages = st.container()
        # The sidebar is drawn here and not by the page: Streamlit then keeps one widget per control
        # for all pages.
        with notices.errors_as_messages():
            sidebar.draw_sidebar(navigation.controls_of(entry))
            with messages:
                first_style.show_page()
            current.run()
        with messages:
            links.report_rejected_values()


if __name__ == "__main__":
    main()
else:
    # Streamlit imports this file once when the server starts, because it defines `app`.
    # Sessions and jobs share the processors, and waiting BLAS threads use them as well. NumPy reads
    # the variable when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    streamlit_private.ignore_pages_folder()
    streamlit_private.skip_external_address_lookup()
    server_log.limit_malformed_messages()
    server_memory.limit_arenas()
    server_memory.start_dropping_unused()
    app = st.App(__file__, middleware=[Middleware(first_style.FirstStyle)])
