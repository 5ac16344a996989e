"""An engine that says what a test tells it to, through the same seam as the real ones."""

from collections.abc import Iterator, Sequence

from empathia.companion.engines.contract import Generated, PromptTooLong


class Script:
    """Answers candidate i with line i; remembers every prompt. Prompts of more than `fits` characters are refused."""

    name = signature = "script"
    context = 2048

    def __init__(self, lines: Sequence[str], tuned: bool = True, fits: int = 100_000) -> None:
        self.lines, self.tuned, self.fits = list(lines), tuned, fits
        self.prompts: list = []
        self.samplings: list = []
        self.closed = False

    def generate(self, prompt, sampling, stop=None) -> Iterator[str | Generated]:
        self._note(prompt, sampling)
        said = ""
        for word in self.lines[0].split():
            if stop is not None and stop.is_set():
                return
            piece = word if not said else f" {word}"
            said += piece
            yield piece
        yield Generated(said, len(said.split()), -1.0 * len(said.split()))

    def candidates(self, prompt, n, sampling, stop=None) -> list[Generated]:
        self._note(prompt, sampling)
        lines = (self.lines * n)[:n]
        return [Generated(line, len(line.split()), -1.0 * len(line.split())) for line in lines]

    def count(self, prompt) -> int:
        return len(str(prompt))

    def close(self) -> None:
        self.closed = True

    def _note(self, prompt, sampling) -> None:
        if len(str(prompt)) > self.fits:
            raise PromptTooLong(len(str(prompt)), self.fits)
        self.prompts.append(prompt)
        self.samplings.append(sampling)
