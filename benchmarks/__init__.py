"""One script for each promise about speed. Run one as `python -m benchmarks.NAME`; docs/figures.md lists them."""
