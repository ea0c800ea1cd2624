"""Engines behind one protocol: the native one, Operon and PySR."""
