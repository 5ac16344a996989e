"""How our own COMET is trained, with torch, transformers and peft; using it needs none of this."""
