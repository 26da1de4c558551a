"""Calls lost by real hosts, made once by `make.py`, and what became of each."""
