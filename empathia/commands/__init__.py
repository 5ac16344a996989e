"""One file per command of `empathia`. Heavy imports stand inside the functions, so `--help` stays light."""
