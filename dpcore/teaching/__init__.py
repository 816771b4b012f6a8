"""What pages teach with: steps, tests, one person who moves, tutorials."""
