"""What the speaker feels and why, and what a reply does: text to labels, without torch."""
