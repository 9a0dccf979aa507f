"""Names of the details page: section and label → metric.

Derived by comparing values of the raw and details pages of the same reports (ncu 2025.3, H200); the labels before
2022.2 are listed beside them. A label with two meanings is told apart by its section.
"""

from __future__ import annotations

import re

_NAMED = re.compile(r"(?:.* \()?([a-z][a-z0-9]*__[A-Za-z0-9_.:]+)\)?")
_PCT = "avg.pct_of_peak_sustained_elapsed"
_ACTIVE = "avg.pct_of_peak_sustained_active"

_LABELS = {
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "Duration": "gpu__time_duration.sum",
    "DRAM Throughput": f"gpu__dram_throughput.{_PCT}",
    "SOL DRAM": f"gpu__dram_throughput.{_PCT}",
    "L1/TEX Cache Throughput": f"l1tex__throughput.{_ACTIVE}",
    "SOL L1/TEX Cache": f"l1tex__throughput.{_ACTIVE}",
    "L2 Cache Throughput": f"lts__throughput.{_PCT}",
    "SOL L2 Cache": f"lts__throughput.{_PCT}",
    "SM Active Cycles": "sm__cycles_active.avg",
    "Compute (SM) Throughput": f"sm__throughput.{_PCT}",
    "Compute (SM) [%]": f"sm__throughput.{_PCT}",
    "SM [%]": f"sm__throughput.{_PCT}",
    "Memory [%]": f"gpu__compute_memory_throughput.{_PCT}",
    "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
    "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
    "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
    "Local Memory Spilling Requests": "derived__local_spilling_requests",
    "Local Memory Spilling Request Overhead": "derived__local_spilling_requests_pct",
    "Shared Memory Spilling Requests": "derived__shared_spilling_requests",
    "Mem Busy": f"gpu__compute_memory_access_throughput.{_PCT}",
    "Max Bandwidth": f"gpu__compute_memory_request_throughput.{_PCT}",
    "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    "Mem Pipes Busy": f"sm__memory_throughput.{_PCT}",
    "One or More Eligible": f"smsp__issue_active.{_ACTIVE}",
    "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    "No Eligible": f"smsp__issue_inst0.{_ACTIVE}",
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
    "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "Avg. Not Predicated Off Threads Per Warp": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    "Executed Instructions": "smsp__inst_executed.sum",
    "Issued Instructions": "smsp__inst_issued.sum",
    "Registers Per Thread": "launch__registers_per_thread",
    "Shared Memory Configuration Size": "launch__shared_mem_config_size",
    "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    "# SMs": "launch__sm_count",
    "Threads": "launch__thread_count",
    "Waves Per SM": "launch__waves_per_multiprocessor",
    "Block Limit SM": "launch__occupancy_limit_blocks",
    "Block Limit Registers": "launch__occupancy_limit_registers",
    "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
    "Block Limit Warps": "launch__occupancy_limit_warps",
    "Block Limit Barriers": "launch__occupancy_limit_barriers",
    "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "Achieved Occupancy": f"sm__warps_active.{_ACTIVE}",
    "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
    "Average DRAM Active Cycles": "dram__cycles_active.avg",
    "Total DRAM Elapsed Cycles": "dram__cycles_elapsed.sum",
    "Average L1 Active Cycles": "l1tex__cycles_active.avg",
    "Total L1 Elapsed Cycles": "l1tex__cycles_elapsed.sum",
    "Average L2 Active Cycles": "lts__cycles_active.avg",
    "Total L2 Elapsed Cycles": "lts__cycles_elapsed.sum",
    "Average SM Active Cycles": "sm__cycles_active.avg",
    "Total SM Elapsed Cycles": "sm__cycles_elapsed.sum",
    "Total SMSP Elapsed Cycles": "smsp__cycles_elapsed.sum",
}
_BY_SECTION = {
    ("Launch Statistics", "Block Size"): "launch__block_size",
    ("Launch Statistics", "Grid Size"): "launch__grid_size",
    ("GPU Speed Of Light", "Memory Throughput"): f"gpu__compute_memory_throughput.{_PCT}",
    ("GPU Speed Of Light Throughput", "Memory Throughput"): f"gpu__compute_memory_throughput.{_PCT}",
    ("Memory Workload Analysis", "Memory Throughput"): "dram__bytes.sum.per_second",
}


def metric_of(section: str, label: str) -> str | None:
    """The metric behind a row of the details page, or None when the label is not known.

    `--print-metric-name name` and `label-name` print the metric itself: `x__y.sum` or `Label (x__y.sum)`.
    """
    named = _NAMED.fullmatch(label)
    return named[1] if named else _BY_SECTION.get((section, label)) or _LABELS.get(label)
