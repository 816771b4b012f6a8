"""DP-PCA Lab: pages, the controls they share, and nothing else.

`streamlit run app.py` reads this file twice: once as the server starts, to find `app`, and then
as a script (`__main__`) for every visitor.
"""

import threading
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from pages.server.first_paint import FirstPaint
from pages.server.process import keep_flat, keep_to_one_line, preload, restrict_server
from pages.shell.streamlit_internals import (
    ask_nobody_for_the_external_address,
    find_no_pages_in_a_folder,
)

if __name__ == "__main__":
    # One run of the script: the page the address asks for, under its title and its controls.
    from pages.server import turns
    from pages.server.process import refuses, say_closed
    from pages.shell import address, controls, presenting, share, story_card
    from pages.shell.navigation import links, place_at
    from pages.widgets.charts import figure_tools, forget_promises
    from pages.widgets.notices import forget_message, say_trouble

    page = st.navigation(links(), position="top")
    st.set_page_config(
        page_title="DP-PCA Lab",
        page_icon=str(Path(__file__).parent / "assets" / "icon.png"),
        layout="wide",
        # The first page is its figure, as wide as the window; its settings are a click away.
        initial_sidebar_state="collapsed" if place_at(page.url_path).is_default else "auto",
    )
    with turns.taken():
        address.read()
        asked = address.corrected()
        here = place_at(page.url_path)
        if not here.is_default:
            # Tables need pandas, and Plotly looks whether it is there: it must not meet it half
            # imported by another visitor's page, and waits here for it to be whole. The page that a
            # server begins with has neither, and does not wait. Nor does it hand Streamlit's
            # components a mapping: it looks for tables among its values, and imports pandas for it.
            import pandas
        forget_promises()
        forget_message()
        story_card.follow(here)
        presented = presenting.follow(here)
        title = ""
        if presented is not None and presented.stands_as(address.stands_at()):
            import pandas  # noqa: F401  as above; this page may be the one without

            from pages.use.deck.page import title_of

            title = title_of(presented)
        controls.remember(controls.choose(here, title))
        try:
            with share.shown(here), address.checked(asked):
                say_trouble()
                if refuses(here.name):
                    say_closed()
                else:
                    page.run()
        finally:  # a page that stops has charts too
            figure_tools(here)
else:
    find_no_pages_in_a_folder()
    ask_nobody_for_the_external_address()
    keep_flat()
    keep_to_one_line()
    restrict_server()
    # The first visitor's browser is busy with Streamlit itself for a second: time to import.
    threading.Thread(target=preload, daemon=True).start()
    app = st.App(__file__, middleware=[Middleware(FirstPaint)])
