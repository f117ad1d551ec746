"""What vir costs, measured with real processes. `python -m bench` prints a table; `--write` puts it into bench/README.md."""
