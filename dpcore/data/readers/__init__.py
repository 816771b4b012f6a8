"""A reader for each data set: official files, or numbers made here, as a `Dataset`."""
