"""Quantities a kernel diagnosis needs and the metrics that carry them, best first; chips differ in what they have.

A quantity is read in ratios (0…1), ns, bytes or counts. `collect` is what to add to the ncu command line to get it.
"""

from __future__ import annotations

from dataclasses import dataclass

_PCT = ".avg.pct_of_peak_sustained_elapsed"
_ACTIVE = ".avg.pct_of_peak_sustained_active"


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a kernel: the first collected metric of `metrics` (all of them added up when `total`).

    Percentages are read as ratios. `section` is the identifier for `ncu --section`; empty means `--metrics`.
    """

    name: str
    metrics: tuple[str, ...]
    section: str = ""
    total: bool = False

    @property
    def collect(self) -> str:
        """Flags that make ncu collect the quantity."""
        return f"--section {self.section}" if self.section else f"--metrics {self.metrics[0]}"


def _percent(name: str, section: str, *bases: str) -> Quantity:
    return Quantity(name, tuple(base + _PCT for base in bases), section)


def _counted(name: str, section: str, *bases: str) -> Quantity:
    return Quantity(name, tuple(f"{base}.sum" for base in bases), section)


def _total(name: str, section: str, *bases: str) -> Quantity:
    return Quantity(name, tuple(f"{base}.sum" for base in bases), section, total=True)


SOL, TABLES, CHART = "SpeedOfLight", "MemoryWorkloadAnalysis_Tables", "MemoryWorkloadAnalysis_Chart"
LAUNCH, OCCUPANCY, SOURCE = "LaunchStats", "Occupancy", "SourceCounters"
COMPUTE, DISTRIBUTION = "ComputeWorkloadAnalysis", "WorkloadDistribution"

DURATION_NS = _counted("duration", SOL, "gpu__time_duration")
DRAM = _percent("DRAM throughput", SOL, "gpu__dram_throughput", "dram__throughput")
MEMORY = _percent("memory throughput", SOL, "gpu__compute_memory_throughput")
L2_ALL = _percent("L2 throughput", SOL, "lts__throughput")
L1_ALL = Quantity("L1 throughput", ("l1tex__throughput" + _PCT, "l1tex__throughput" + _ACTIVE), SOL)
SM_ALL = _percent("SM throughput", SOL, "sm__throughput")

L2_SECTORS = _percent("L2 sector rate", TABLES, "lts__t_sectors")
L2_DATA = _percent("L2 data rate", CHART, "lts__d_sectors")
L2_TAGS = _percent("L2 tag rate", TABLES, "lts__t_tag_requests")
L2_IN = _percent("crossbar to L2", CHART, "lts__xbar2lts_cycles_active")
L2_OUT = _percent("crossbar from L2", CHART, "lts__lts2xbar_cycles_active")
L1_DATA = _percent("L1 data pipe", TABLES, "l1tex__data_pipe_lsu_wavefronts")
L1_REQUESTS = _percent("LSU requests", TABLES, "l1tex__lsuin_requests", "sm__inst_executed_pipe_lsu")
L1_WRITEBACK = _percent("L1 write-back", TABLES, "l1tex__lsu_writeback_active")
L1_OUT = _percent("L1 to crossbar", TABLES, "l1tex__m_l1tex2xbar_req_cycles_active")
L1_IN = _percent("crossbar to L1", TABLES, "l1tex__m_xbar2l1tex_read_sectors")
ISSUE_SLOTS = _percent("issue slots", COMPUTE, "sm__issue_active", "sm__inst_issued", "sm__inst_executed")
ALU = _percent("ALU pipe", COMPUTE, "sm__inst_executed_pipe_alu", "sm__pipe_alu_cycles_active")
FMA = _percent("FMA pipe", COMPUTE, "sm__inst_executed_pipe_fma", "sm__pipe_fma_cycles_active")
FMA_HEAVY = _percent("FMA heavy pipe", COMPUTE, "sm__pipe_fmaheavy_cycles_active")
FP64 = _percent("FP64 pipe", COMPUTE, "sm__inst_executed_pipe_fp64", "sm__pipe_fp64_cycles_active")
XU = _percent("XU pipe", COMPUTE, "sm__inst_executed_pipe_xu")
TENSOR = Quantity(
    "tensor pipe",
    (
        "sm__pipe_tensor_cycles_active" + _PCT,
        "sm__pipe_tensor_cycles_active" + _ACTIVE,
        "sm__inst_executed_pipe_tensor" + _PCT,
        "sm__inst_executed_pipe_tensor" + _ACTIVE,
    ),
    COMPUTE,
)

ISSUE_ACTIVE = Quantity(
    "issue active",
    ("smsp__issue_active" + _ACTIVE, "smsp__issue_active.avg.per_cycle_active", "sm__issue_active" + _ACTIVE),
    "SchedulerStats",
)
ELIGIBLE_WARPS = Quantity("eligible warps", ("smsp__warps_eligible.avg.per_cycle_active",), "SchedulerStats")
ACHIEVED_OCCUPANCY = Quantity("achieved occupancy", ("sm__warps_active" + _ACTIVE,), OCCUPANCY)
THEORETICAL_OCCUPANCY = Quantity("theoretical occupancy", ("sm__maximum_warps_per_active_cycle_pct",), OCCUPANCY)
LIMIT_REGISTERS = Quantity("blocks by registers", ("launch__occupancy_limit_registers",), OCCUPANCY)
LIMIT_SHARED = Quantity("blocks by shared memory", ("launch__occupancy_limit_shared_mem",), OCCUPANCY)
LIMIT_BLOCKS = Quantity("blocks by slots", ("launch__occupancy_limit_blocks",), OCCUPANCY)
LIMIT_WARPS = Quantity("blocks by warps", ("launch__occupancy_limit_warps",), OCCUPANCY)

GRID_SIZE = Quantity("blocks", ("launch__grid_size",), LAUNCH)
BLOCK_SIZE = Quantity("threads a block", ("launch__block_size",), LAUNCH)
SM_COUNT = Quantity("SMs", ("launch__sm_count", "device__attribute_multiprocessor_count"), LAUNCH)
WAVES = Quantity("waves", ("launch__waves_per_multiprocessor",), LAUNCH)
REGISTERS = Quantity("registers a thread", ("launch__registers_per_thread",), LAUNCH)
STATIC_SHARED = Quantity("static shared memory a block", ("launch__shared_mem_per_block_static",), LAUNCH)
DYNAMIC_SHARED = Quantity("dynamic shared memory a block", ("launch__shared_mem_per_block_dynamic",), LAUNCH)

SM_ACTIVE_MIN = Quantity("least active cycles of an SM", ("sm__cycles_active.min",), DISTRIBUTION)
SM_ACTIVE_AVG = Quantity("active cycles of an SM", ("sm__cycles_active.avg",), DISTRIBUTION)
SM_ACTIVE_MAX = Quantity("most active cycles of an SM", ("sm__cycles_active.max",), DISTRIBUTION)
SM_ELAPSED = Quantity("elapsed cycles", ("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max"), SOL)
L2_ACTIVE_AVG = Quantity("active cycles of an L2 slice", ("lts__cycles_active.avg",), DISTRIBUTION)
L2_ACTIVE_MAX = Quantity("most active cycles of an L2 slice", ("lts__cycles_active.max",), DISTRIBUTION)

INSTRUCTIONS = _counted("instructions", "InstructionStats", "smsp__inst_executed", "sm__inst_executed")
GLOBAL_LOADS = _counted(
    "global loads", TABLES, "smsp__sass_inst_executed_op_global_ld", "smsp__inst_executed_op_global_ld"
)
GLOBAL_STORES = _counted(
    "global stores", TABLES, "smsp__sass_inst_executed_op_global_st", "smsp__inst_executed_op_global_st"
)
SHARED_LOADS = _counted(
    "shared loads", TABLES, "smsp__sass_inst_executed_op_shared_ld", "smsp__inst_executed_op_shared_ld"
)
SHARED_STORES = _counted(
    "shared stores", TABLES, "smsp__sass_inst_executed_op_shared_st", "smsp__inst_executed_op_shared_st"
)
LOCAL_ACCESSES = _total(
    "local loads and stores", TABLES, "smsp__sass_inst_executed_op_local_ld", "smsp__sass_inst_executed_op_local_st"
)
LOCAL_WAVEFRONTS = _total(
    "local wavefronts",
    TABLES,
    "l1tex__t_output_wavefronts_pipe_lsu_mem_local_op_ld",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_local_op_st",
)
LOCAL_SECTORS = _total(
    "local sectors", TABLES, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld", "l1tex__t_sectors_pipe_lsu_mem_local_op_st"
)
LOCAL_LOAD_MISSES = _counted(
    "local load sectors that miss L1", TABLES, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_miss"
)
LOCAL_STORE_SECTORS = _counted("local store sectors", TABLES, "l1tex__t_sectors_pipe_lsu_mem_local_op_st")
L2_READS = _counted("L2 sectors read by L1", TABLES, "lts__t_sectors_srcunit_tex_op_read")
L2_WRITES = _counted("L2 sectors written by L1", TABLES, "lts__t_sectors_srcunit_tex_op_write")
GLOBAL_SECTORS = _total(
    "global sectors",
    TABLES,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st",
)
SPILLS = Quantity(
    "register spills",
    ("derived__local_spilling_requests", "sass__inst_executed_register_spilling_mem_local"),
    "MemoryWorkloadAnalysis",
)
ASYNC_COPIES = _total(
    "asynchronous copies",
    TABLES,
    "smsp__inst_executed_op_ldgsts",
    "smsp__sass_inst_executed_op_tma_ld",
    "smsp__inst_executed_op_tma_ld",
)

THEORETICAL_SECTORS = Quantity("L2 sectors asked for", ("memory_l2_theoretical_sectors_global",), SOURCE)
IDEAL_SECTORS = Quantity("L2 sectors needed", ("memory_l2_theoretical_sectors_global_ideal",), SOURCE)
L2_FROM_L1 = _counted("L2 sectors from L1", TABLES, "lts__t_sectors_srcunit_tex")
L2_CYCLES = _counted("L2 slice cycles", DISTRIBUTION, "lts__cycles_elapsed")
L2_REQUESTS_FROM_L1 = _counted("L2 requests from L1", TABLES, "lts__t_requests_srcunit_tex")
L2_REDUCTIONS = _total(
    "L2 atomics",
    TABLES,
    "lts__t_sectors_srcunit_tex_op_red",
    "lts__t_sectors_srcunit_tex_op_atom",
)
ATOMIC_UNIT = _percent("L2 atomic unit", TABLES, "lts__d_atomic_input_cycles_active")
SHARED_ATOMIC_CONFLICTS = _counted(
    "shared atomic conflicts", TABLES, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom"
)
SHARED_CONFLICTS = _counted("bank conflicts", TABLES, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared")
SHARED_WAVEFRONTS = _counted("shared wavefronts", TABLES, "l1tex__data_pipe_lsu_wavefronts_mem_shared")
SYSMEM_SECTORS = _counted(
    "host memory sectors",
    TABLES,
    "lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss",
    "syslts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss",
    "lts__t_sectors_aperture_sysmem_lookup_miss",
    "lts__d_sectors_fill_sysmem",
)
DRAM_READ = _counted("DRAM bytes read", CHART, "dram__bytes_read")
DRAM_WRITTEN = _counted("DRAM bytes written", CHART, "dram__bytes_write")
DRAM_PEAK = Quantity("DRAM bytes a cycle at peak", ("dram__bytes.sum.peak_sustained",), "SpeedOfLight_RooflineChart")
DRAM_CLOCK = Quantity("DRAM clock", ("dram__cycles_elapsed.avg.per_second",), SOL)
SM_CLOCK = Quantity("SM clock", ("gpc__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second"), SOL)
L1_HIT_RATE = Quantity("L1 hit rate", ("l1tex__t_sector_hit_rate.pct",), "MemoryWorkloadAnalysis")
L2_HIT_RATE = Quantity("L2 hit rate", ("lts__t_sector_hit_rate.pct",), "MemoryWorkloadAnalysis")
MEMBAR_REQUESTS = _counted("fence requests at L2", "", "lts__t_requests_op_membar")

THREADS = Quantity("threads an instruction", ("smsp__thread_inst_executed_per_inst_executed.ratio",), "WarpStateStats")
FFMA = Quantity(
    "FP32 FMA", ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",), "SpeedOfLight_RooflineChart"
)
FADD = Quantity(
    "FP32 add", ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed",), "SpeedOfLight_RooflineChart"
)
FMUL = Quantity(
    "FP32 multiply",
    ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed",),
    "SpeedOfLight_RooflineChart",
)
FFMA_PEAK = Quantity(
    "FP32 FMA at peak",
    ("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained",),
    "SpeedOfLight_RooflineChart",
)

REPLAY_PASSES = Quantity("replay passes", ("profiler__replayer_passes",), SOL)
PC_SAMPLES = Quantity("PC samples", ("smsp__pcsamp_sample_count",), SOURCE)
WARP_LATENCY = Quantity(
    "cycles an instruction", ("smsp__average_warp_latency_per_inst_issued.ratio",), "WarpStateStats"
)

STALL_METRIC = "smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
SAMPLE_METRIC = "smsp__pcsamp_warps_issue_stalled_{reason}_not_issued"
STALLS = Quantity(
    "warp stalls",
    (STALL_METRIC.format(reason="long_scoreboard"), SAMPLE_METRIC.format(reason="long_scoreboard")),
    "WarpStateStats",
)
