"""Where words come from: one small seam (`contract`), and a language model behind it, near or far."""
