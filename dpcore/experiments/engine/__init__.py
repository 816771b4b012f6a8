"""Engine of all families: specs, sweeps, the store of finished rows, caches and charges."""
