"""Signed personal links: an annotator's id and an HMAC over it, so that a link can be neither guessed nor altered."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from ..core.errors import BadInput

LONGEST_ID = 120


def token(secret: str, annotator: str) -> str:
    name = base64.urlsafe_b64encode(annotator.encode()).decode().rstrip("=")
    return f"{name}.{_signature(secret, 'annotator', annotator)}"


def annotator_of(secret: str, link: str) -> str | None:
    """The annotator a token was signed for; `None` if it was not signed by this study."""
    name, _, signature = link.partition(".")
    try:
        annotator = base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    if not signature.isascii() or not hmac.compare_digest(token(secret, annotator), f"{name}.{signature}"):
        return None
    return annotator


def admin_cookie(secret: str, admin_key: str) -> str:
    return _signature(secret, "admin", admin_key)


def same(a: str, b: str) -> bool:
    """Compare without telling by the time it takes how much was right."""
    return hmac.compare_digest(a.encode(), b.encode())


def checked_id(annotator: str) -> str:
    annotator = annotator.strip()
    if not annotator or len(annotator) > LONGEST_ID or not annotator.isprintable():
        raise BadInput(f"an annotator's id needs 1 to {LONGEST_ID} printable characters")
    return annotator


def _signature(secret: str, purpose: str, text: str) -> str:
    digest = hmac.new(bytes.fromhex(secret), f"{purpose}:{text}".encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest[:24]).decode()
