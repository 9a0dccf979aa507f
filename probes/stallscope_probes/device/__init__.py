"""What a probe may do to a GPU, and a stand-in on the CPU that runs the same logic where there is none."""
