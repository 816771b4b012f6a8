"""The other families of algorithms as pictures."""
