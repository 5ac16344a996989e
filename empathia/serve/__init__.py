"""The OpenAI-compatible server and the page. Responders are given to it; it imports none."""
