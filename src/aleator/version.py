"""The version of the package, for the build, model files and users."""

__version__ = "0.3.0"
