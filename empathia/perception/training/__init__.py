"""How the encoders of perception are trained, with torch; using them needs none of this."""
