"""vir keeps what a person learns while working with coding agents.

The package is a house of rooms on floors (`docs/house.md`); imports point down only. Nothing is imported here, because
every verb pays for what this file loads.
"""

__version__ = "0.1.0"
