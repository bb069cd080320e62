# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Former import name of `perigee_lab`, kept for one version; its modules are the same objects."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

OLD, NEW = "perigee.", "perigee_lab."


class _SameModule(Loader):
    """Loader of a module under its former name: the same object, so that classes stay identical."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(NEW + spec.name.removeprefix(OLD))
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has set the spec of the former name.
        module.__spec__ = self.spec


class _OldNames(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        # `python -m perigee` needs a file to run, which the default finder provides.
        if not name.startswith(OLD) or name == OLD + "__main__":
            return None
        return ModuleSpec(name, _SameModule())


warnings.warn("the package is called perigee_lab: `import perigee_lab as perigee`", DeprecationWarning, stacklevel=2)
sys.meta_path.insert(0, _OldNames())
sys.modules[__name__] = import_module("perigee_lab")
