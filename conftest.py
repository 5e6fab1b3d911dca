"""What pytest must know before it collects."""

from importlib.util import find_spec

# Triton comes with torch's CUDA builds; without it the module that needs it cannot be imported.
collect_ignore = [] if find_spec("triton") else ["src/aleator/training/factored_adam.py"]
