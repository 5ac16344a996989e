"""The OpenAI-compatible server and the page. Responders are given to it; it imports none.

    request ─► access ─► guard ─► rate ─► queue ─► responder in a thread ─► JSON or server-sent events

`app.py` puts it together, `desk.py` is the way every question takes, `slots.py` the one bounded queue before the
models. No message text is ever logged or kept, but for `--keep` (`keep.py`).
"""

from .app import make_app
from .services import Services, Source
from .settings import Access, Limits

__all__ = ["Access", "Limits", "Services", "Source", "make_app"]
