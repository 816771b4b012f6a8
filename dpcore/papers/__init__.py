"""Published figures and tables, run live and compared with the printed numbers."""
