"""Workloads that provoke one wait each."""
