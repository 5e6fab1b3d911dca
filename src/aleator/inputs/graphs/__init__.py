"""Graphs: lists of PyTorch Geometric or networkx graphs, or a folder in the TU format."""
