"""The documentation, held against the code it speaks of."""
