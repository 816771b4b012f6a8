"""Kinds of pictures: they fill the frame, or show an object in its middle.

The process that reads an uploaded table needs these names, and takes half as long to start without
the modules of `dpcore.data`.
"""

FULL, CENTRED = "full", "centred"
PICTURE_KINDS = FULL, CENTRED
