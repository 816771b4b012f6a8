"""The files of a release: components, certificate, what goes to a registry, and how to use it."""

from dpcore.releases.folder.deployment import deployment
from dpcore.releases.folder.files import CERTIFICATE, COMPONENTS, DICTIONARY, files_of

__all__ = ["CERTIFICATE", "COMPONENTS", "DICTIONARY", "deployment", "files_of"]
