"""Packages that only parts of this one need; they are imported on use."""

from importlib import import_module
from types import ModuleType

from wane._errors import MissingExtraError


def need(module: str, extra: str, user: str) -> ModuleType:
    """Imports a module that an extra brings.

    Args:
        module: The module's name, such as ``"polars"``.
        extra: The extra of this package that installs it, such as ``"frames"``.
        user: What needs it, for the message, such as ``"Table.to_polars"``.

    Raises:
        MissingExtraError: The module is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # If the module is installed but lacks one of its own modules, that error is raised as it is.
        if error.name != module.partition(".")[0]:
            raise
        sentence = f"{user} needs {module}, which is not installed: pip install 'wane[{extra}]'"
        raise MissingExtraError(sentence, name=module) from None
