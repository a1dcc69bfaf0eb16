"""The model behind the Bayesian strategies: what improved whom, a Gaussian process fitted to it, and where to look next."""
