"""How good is a representation?"""
