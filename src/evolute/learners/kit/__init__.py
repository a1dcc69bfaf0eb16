"""What compiled learners share: one program for all members, networks, actions, normalisers, Adam, acting and evaluation."""
