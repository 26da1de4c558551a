"""Ledgers of many machines in one PostgreSQL: shipped there, and shown from there."""
