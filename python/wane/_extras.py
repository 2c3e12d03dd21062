"""Packages that only some of this one needs, which are imported where they are used."""

from importlib import import_module
from types import ModuleType

from wane._errors import MissingExtraError


def need(module: str, extra: str, user: str) -> ModuleType:
    """Imports a module that an extra brings.

    Args:
        module: The module's name, such as ``"polars"``.
        extra: The extra of this package that installs it, such as ``"frames"``.
        user: What needs it, for the sentence, such as ``"Table.to_polars"``.

    Raises:
        MissingExtraError: The module is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # A module that is there and lacks one of its own is another matter.
        if error.name != module.partition(".")[0]:
            raise
        sentence = f"{user} needs {module}, which is not installed: pip install 'wane[{extra}]'"
        raise MissingExtraError(sentence, name=module) from None
