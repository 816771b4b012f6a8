"""Views of the page *Algorithms compared*, one file per subject."""
