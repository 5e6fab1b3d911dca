"""Fuzzing of everything that reads files: ``python -m aleator.benchmark.fuzzing``.

Files that the library wrote, or that it can read, are changed at random and read again. Whatever is
in a file, reading it may raise the errors of this library only. It must not take much more memory
than the file has bytes, open files outside the folder, or end the process.
"""
