"""Curve of captured energy whose vertical line is the slider of ε, with pictures that follow it."""
