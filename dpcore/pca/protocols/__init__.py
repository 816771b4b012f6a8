"""Who adds noise, what is sent, who takes the leading directions, and what that promises.

A protocol is found by its file's being here: its entry in the register is at the end of that file.
"""

from importlib import import_module
from pkgutil import iter_modules

# As lists show them: what starts from rows at sites, then what a holder of all rows does.
_NAMES = [each.name for each in iter_modules(__path__)]
for _name in sorted(_NAMES, key=lambda name: (name == "trusted_holder", name)):
    import_module(f"{__name__}.{_name}")
