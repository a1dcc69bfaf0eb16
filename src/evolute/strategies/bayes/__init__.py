"""The model behind the Bayesian strategies: what improved whom, a Gaussian process over it, and where to look next."""
