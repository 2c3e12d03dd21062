"""What can go wrong: one class for each kind of error, under one base. The text of each is the command's sentence."""


class WaneError(Exception):
    """The base of all errors of this package."""

    @property
    def sentence(self) -> str:
        """What was found and what is allowed, as the command says it."""
        return str(self)


class ScenarioError(WaneError, ValueError):
    """A scenario that cannot be read, resolved or built.

    Attributes:
        key: The key that is wrong, such as ``ftl.gc.d``; ``None`` where there is none.
        source: The file, the preset or the argument that says it; ``None`` where it is not known.
        line: Its line in the file, from 1; ``None`` where it is not known.
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
    """A question that a model has no answer to: a number outside of its range, shares that do not add up to 1."""


class PolicyError(WaneError, ValueError):
    """A policy in Python that answers what its role does not allow, or uses a view after the call that it was given to."""


class SmartError(WaneError, ValueError):
    """What a tool told of a drive and that cannot be read or judged."""


class FleetError(WaneError, ValueError):
    """A fleet that cannot be opened, data that it does not take, or a question about many drives, heat or money that has no answer."""


class ActorError(WaneError):
    """Drives that encode and cannot be served, do not answer, or refuse what they are asked for."""


class MissingExtraError(WaneError, ImportError):
    """A package that an extra of this one brings and that is not installed."""


class InternalError(WaneError):
    """A bug of this package. The results of earlier calls are whole, and further calls go on."""
