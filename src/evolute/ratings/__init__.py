"""How good players are, from the results of games: ratings, equilibria and rankings, on plain arrays."""
