"""How the companion's adapter is trained, with torch, transformers and peft; using it needs none of this."""
