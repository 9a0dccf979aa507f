"""What each kernel pair plants, which causes a diagnosis of its slow side may name first, and which pairs are held out.

The split was fixed before any counter was looked at: thresholds are fitted on the other pairs only.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """One before/after pair. `expect` are the accepted ids; a decoy's change is true of the code and worth nothing."""

    name: str
    fault: str
    expect: tuple[str, ...]
    held_out: bool = False
    decoy: bool = False


_MEMORY = ("ok.memory_bound", "kernel.mem.dram")

PAIRS = (
    Pair("transpose", "32-way bank conflicts in a transpose tile", ("kernel.mem.bank_conflict",)),
    Pair("row_sums", "32-way bank conflicts in row sums", ("kernel.mem.bank_conflict",), held_out=True),
    Pair("staged_copy", "two-way bank conflicts under a DRAM-bound copy", _MEMORY, decoy=True),
    Pair("column_copy", "column-wise copy of a row-major matrix", ("kernel.mem.uncoalesced",)),
    Pair("record_field", "one field of a 32-byte record", ("kernel.mem.uncoalesced",), held_out=True),
    Pair("triples", "three consecutive doubles a thread", ("kernel.mem.uncoalesced",)),
    Pair("tri_column_scale", "Triton program along the strided axis", ("kernel.mem.uncoalesced",)),
    Pair("spilled_tile", "8x8 register tile in 40 registers", ("kernel.mem.spill",)),
    Pair("spilled_ring", "48 live values in 32 registers", ("kernel.mem.spill",), held_out=True),
    Pair("tri_spill", "256x256 Triton tile on 4 warps", ("kernel.mem.spill",)),
    Pair("local_bins", "32 bins indexed at run time", ("kernel.mem.local_array",)),
    Pair("wander", "state array indexed at run time", ("kernel.mem.local_array",), held_out=True),
    Pair("host_read", "input read from mapped host memory", ("kernel.mem.sysmem",)),
    Pair("host_lookup", "lookups in mapped host memory", ("kernel.mem.sysmem",), held_out=True),
    Pair("one_counter", "every thread adds to one address", ("kernel.mem.atomic",)),
    Pair("histogram", "128 bins in global memory", ("kernel.mem.atomic",), held_out=True),
    Pair("block_reduce", "a barrier for each halving of a reduction", ("kernel.latency.barrier",)),
    Pair("block_scan", "two barriers for each step of a scan", ("kernel.latency.barrier",), held_out=True),
    Pair("synced_copy", "a barrier in a DRAM-bound copy", _MEMORY, decoy=True),
    Pair("few_blocks", "8 blocks on the whole device", ("kernel.latency.small_grid",)),
    Pair("half_grid", "a block on a third of the SMs", ("kernel.latency.small_grid",), held_out=True),
    Pair("last_wave", "1.09 waves of one block an SM", ("kernel.latency.tail_wave",)),
    Pair("third_wave", "2.3 waves of one block an SM", ("kernel.latency.tail_wave",), held_out=True),
    Pair("ramp", "work grows with the block index", ("kernel.latency.imbalance",)),
    Pair("uneven", "few long rows in fixed shares", ("kernel.latency.imbalance",), held_out=True),
    Pair("crowded_out", "shared memory nobody needs limits dependent lookups", ("kernel.latency.occupancy",)),
    Pair("wide_tile", "shared memory limits a copy to 8 warps an SM", ("kernel.latency.occupancy",)),
    Pair("one_in_flight", "one load in flight a thread", ("kernel.latency.long_scoreboard",)),
    Pair("narrow_copy", "four bytes a thread, one load in flight", ("kernel.latency.long_scoreboard",), held_out=True),
    Pair("serial_chains", "dependent chains one after the other", ("kernel.latency.dependency",)),
    Pair("hash_rounds", "dependent integer hash rounds", ("kernel.latency.dependency",), held_out=True),
    Pair("fence_each", "a device fence after every store", ("kernel.latency.membar",)),
    Pair("fence_scope", "a system fence where a block fence is enough", ("kernel.latency.membar",), held_out=True),
    Pair("staging", "tile loads that wait before the work on them", ("pipe.copy_wait",)),
    Pair("tri_stages", "Triton matmul with one stage", ("pipe.copy_wait", "kernel.compute.tensor_idle"), held_out=True),
    Pair("gemm_naive", "matrix product from L1", ("kernel.mem.l1",)),
    Pair("gemm_small_tile", "matrix product with 8x8 tiles", ("kernel.mem.l1", "kernel.mem.l2"), held_out=True),
    Pair(
        "tri_small_tile",
        "Triton matmul with 32x32 tiles",
        ("kernel.mem.l1", "kernel.mem.l2", "kernel.compute.tensor_idle"),
    ),
    Pair("table_reread", "every block reads the same table from L2", ("kernel.mem.l2",)),
    Pair("two_sweeps", "two sweeps over an array larger than L2", ("kernel.mem.dram",)),
    Pair("centre_rows", "rows read again for a second pass", ("kernel.mem.dram", "kernel.mem.l2")),
    Pair("elementwise_chain", "three element-wise kernels in a row", ("kernel.unfused",)),
    Pair("elementwise_twice", "two element-wise kernels in a row", ("kernel.unfused",), held_out=True),
    Pair("tri_unfused", "two element-wise Triton kernels in a row", ("kernel.unfused",)),
    Pair("double_maths", "double where single is enough", ("kernel.compute.pipe_bound",)),
    Pair("integer_division", "division by a run-time power of two", ("kernel.compute.pipe_bound",)),
    Pair("special_functions", "an exponential in the inner loop", ("kernel.compute.pipe_bound",)),
    Pair("mixed_kinds", "four code paths within each warp", ("kernel.compute.divergence",)),
    Pair("mixed_lengths", "32 trip counts within each warp", ("kernel.compute.divergence",), held_out=True),
    Pair("gemm_bf16", "bf16 matrix product without tensor cores", ("kernel.compute.tensor_idle",)),
    Pair("tri_ieee_gemm", "fp32 matrix product without TF32", ("kernel.compute.tensor_idle",)),
)
