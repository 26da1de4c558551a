"""Everything that decides: values in, values out. Standard library only, relative imports only, no home cached."""
