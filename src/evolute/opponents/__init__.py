"""Who plays whom: choosers of opponents, and the frame that seats them, rates all players, and keeps a pool of past states."""
