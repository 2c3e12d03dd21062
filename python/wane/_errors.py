"""Errors of the package: one class for each kind, under one base. The text of each is the command's sentence."""


class WaneError(Exception):
    """The base of all errors of this package."""

    @property
    def sentence(self) -> str:
        """What was found and what is allowed, as in the command's message."""
        return str(self)


class ScenarioError(WaneError, ValueError):
    """A scenario that cannot be read, resolved or built.

    Attributes:
        key: The wrong key, such as ``ftl.gc.d``; ``None`` if there is none.
        source: The file, the preset or the argument that has it; ``None`` if unknown.
        line: Its line in the file, from 1; ``None`` if unknown.
    """

    def __init__(
        self, sentence: str, key: str | None = None, source: str | None = None, line: int | None = None
    ) -> None:
        super().__init__(sentence, key, source, line)
        self.key = key
        self.source = source
        self.line = line

    def __str__(self) -> str:
        return str(self.args[0])


class TraceError(WaneError):
    """A block trace that cannot be read, is damaged, or was changed while it was run."""


class ResultsError(WaneError):
    """A folder of results that cannot be written or read, is in use, or holds something else."""


class OutOfMemoryError(WaneError, MemoryError):
    """A scenario that needs more memory than there is. Nothing was run."""


class TheoryError(WaneError, ValueError):
    """A question for which a model has no answer: a number outside of its range, shares that do not add up to 1."""


class PolicyError(WaneError, ValueError):
    """A policy in Python that gives an answer that its role does not allow, or uses a view after the call to which it was given."""


class SmartError(WaneError, ValueError):
    """Output of a tool about a drive that cannot be read or judged."""


class ServeError(WaneError):
    """A drive that cannot be served, or something that its server refuses."""


class FleetError(WaneError, ValueError):
    """A fleet that cannot be opened, data that it does not take, or a question about fleets, heat or costs that has no answer."""


class ActorError(WaneError):
    """Drives that encode and cannot be served, do not answer, or refuse a request."""


class MissingExtraError(WaneError, ImportError):
    """A package that is not installed; an extra of this package brings it."""


class InternalError(WaneError):
    """A bug of this package. The results of earlier calls are whole, and further calls go on."""
