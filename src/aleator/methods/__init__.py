"""One readable file a method: what it trains, what it reads, its loss."""
