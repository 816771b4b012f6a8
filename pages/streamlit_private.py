"""The private names of Streamlit that the dashboard needs, each with its reason.

No public substitute exists in Streamlit 1.67. All other code uses documented names only.
"""

from __future__ import annotations

from streamlit import net_util
from streamlit.runtime.pages_manager import PagesManager


def ignore_pages_folder() -> None:
    """Switch off Streamlit's automatic discovery of `pages/*.py`.

    Until the first `st.navigation` call, Streamlit treats the folder as an old-style multipage app
    and answers a deep link to a freshly started server with "Page not found".
    """
    PagesManager.uses_pages_directory = False


def skip_external_address_lookup() -> None:
    """Stop Streamlit from asking a third-party host for this machine's external address.

    Streamlit makes this request when it checks the origin of a WebSocket connection.
    """
    net_util.get_external_ip = lambda: None
