"""Scripts, notebooks and web pages that show or repeat rows outside of the dashboard."""
