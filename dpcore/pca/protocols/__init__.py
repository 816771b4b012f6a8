"""Protocols: the source of the noise, the messages, the decomposition and the guarantee of each.

Every module in this folder is imported. Its register entries are at its end.
"""

from importlib import import_module
from pkgutil import iter_modules

# Order in lists: protocols of sites first, then those of a holder of all rows.
_NAMES = [each.name for each in iter_modules(__path__)]
for _name in sorted(_NAMES, key=lambda name: (name == "trusted_holder", name)):
    import_module(f"{__name__}.{_name}")
