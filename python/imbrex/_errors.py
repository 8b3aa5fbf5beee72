"""What imbrex throws."""


class Error(Exception):
    """Something of the runtime failed."""


class UsageError(Error):
    """imbrex was used in a way that can never work."""


class RemoteError(Error):
    """What was thrown elsewhere, as text: with the lines of the program there."""
