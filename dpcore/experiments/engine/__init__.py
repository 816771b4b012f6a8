"""What experiments run on: units of work, who computes them, and where rows are kept."""
