"""DP-PCA Lab: pages, the controls they share, and nothing else."""

from pathlib import Path

import streamlit as st

from pages.shared import controls, runs

ASSETS = Path(__file__).parent / "assets"
PAGES = {
    "Explore": {
        "playground": ("Playground", controls.RUN_CONTROLS),
        "eigen_images": ("Eigen-images", controls.IMAGE_CONTROLS),
    },
    "Learn": {
        "start": ("Start here", ()),
    },
}

st.set_page_config(
    page_title="DP-PCA Lab", page_icon=str(ASSETS / "icon.png"), layout="wide"
)
runs.one_blas_thread()

pages, shown_controls = {}, {}
for section, entries in PAGES.items():
    for name, (title, names) in entries.items():
        page = st.Page(
            f"pages/{section.lower()}/{name}.py",
            title=title,
            url_path=name,
            default=name == "playground",
        )
        pages.setdefault(section, []).append(page)
        shown_controls[page.url_path] = names

page = st.navigation(pages)
controls.remember(controls.choose(shown_controls[page.url_path]))
page.run()
