"""Kernel PCA, autoencoder, data completion and canonical correlations on an inner map."""
