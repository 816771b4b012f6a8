"""Messages as bytes: precisions, dithered rounding, entropy coding."""
