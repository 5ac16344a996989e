"""How much a server takes on, and from whom."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from ..core.errors import BadInput

#: bytes of a request's body
LARGEST_BODY = 256 * 1024
#: seconds a client may take to send it
SLOWEST_BODY = 20.0
#: messages of a conversation, characters of one message and of all of them
MOST_MESSAGES, LONGEST_MESSAGE, MOST_CHARACTERS = 200, 8_000, 32_000
#: tokens of a reply, choices (`n`), candidates to weigh, stop sequences and their characters
MOST_TOKENS, MOST_CHOICES, MOST_CANDIDATES, MOST_STOPS, LONGEST_STOP = 4096, 8, 16, 4, 64
#: texts of one embeddings request
MOST_TEXTS = 256


@dataclass(frozen=True)
class Limits:
    """What one process takes on at a time."""

    parallel: int = 1  # replies being written
    waiting: int = 32  # requests in the queue before them
    seconds: float = 120.0  # from a request's arrival to its last word
    rate: int = 0  # replies a minute and key (or address, without keys); 0 is no limit


@dataclass(frozen=True)
class Access:
    """Who may ask. Beyond the own machine only with a key."""

    host: str = "127.0.0.1"
    keys: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.keys and not self.local:
            raise BadInput(
                f"{self.host} can be reached from other machines, so the server needs a key",
                "add --key SECRET (or set EMPATHIA_KEY), or leave --host at 127.0.0.1",
            )
        if any(not key.isascii() or not key.isprintable() or len(key.split()) != 1 for key in self.keys):
            raise BadInput("a key is made of printable ASCII characters without spaces", "choose another --key")

    @property
    def local(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False
