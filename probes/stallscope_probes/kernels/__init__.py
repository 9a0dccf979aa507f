"""Before/after pairs of kernels: one known in-kernel fault each, measured unprofiled and under Nsight Compute."""
