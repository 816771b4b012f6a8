"""Questions asked of many runs: targets, frontiers, maps, shares of a budget."""
