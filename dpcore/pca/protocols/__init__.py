"""Protocols: the source of the noise, the messages, the decomposition and the guarantee of each.

Every module in this folder is imported. Its register entries are at its end.
"""

from importlib import import_module
from pkgutil import iter_modules

# Order in lists: protocols of the paper, other protocols of sites, references, trusted holder.
_FIRST = ("distributed", "first_site", "holder", "coded", "cape", "secure_sum")
_LAST = ("references", "central", "ppca")
_NAMES = sorted(
    module.name for module in iter_modules(__path__) if module.name not in _FIRST + _LAST
)
for _name in (*_FIRST, *_NAMES, *_LAST):
    import_module(f"{__name__}.{_name}")
