"""Human evaluation as the papers ran it: ratings, A/B tests and drag-and-drop bins. No model, no torch."""
