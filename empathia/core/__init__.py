"""The words every other room speaks: types, taxonomy, configuration, errors, places. No torch, no numpy."""
