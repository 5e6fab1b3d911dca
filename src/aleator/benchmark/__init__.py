"""The paper's recipes: their data, their accuracy, their speed."""
