"""Text to numbers and back: tokens, vocabularies, word vectors, batches."""
