"""The published figures and tables, run live and held against what was printed."""
