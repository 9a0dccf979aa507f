"""Nsight Compute's CSV pages: every form, version and locale gives the same counters, and nothing is invented."""

from __future__ import annotations

import csv
import io

import pytest
from ncu_pages import LOCALE_PAGES, META, PAGES, SHAPE, launch, page, raw_page, read, table

from stallscope.errors import InputError
from stallscope.ingest.numbers import parse_number

LOCALES = {"C": ("", "."), "en_US": (",", "."), "de_DE": (".", ",")}
METRICS = {
    "gpu__time_duration.sum": ("us", "634.592000"),
    "launch__grid_size": ("", "1,056"),
    "lts__t_sectors.sum": ("sector", "n/a"),
    "smsp__issue_active.avg.per_cycle_active": ("", "0.07"),
    "launch__func_cache_config": ("", "CachePreferNone"),
}


def rendered(cell: str, locale: str) -> str:
    """A cell of an en_US page as ncu prints the same value under another locale."""
    value = parse_number(cell)
    if value is None or (cell[-7:-6] == "." and "," not in cell):
        return cell
    grouping, mark = LOCALES[locale]
    whole, _, rest = (f"{value:,}" if isinstance(value, int) else f"{value:,.2f}").partition(".")
    return whole.replace(",", grouping) + (mark + rest if rest else "")


@pytest.mark.parametrize("name", ["kern.raw", "kern.raw.base", "triton.raw", "kern.details", "triton.details"])
@pytest.mark.parametrize("locale", LOCALES)
def test_round_trip_of_the_committed_pages_has_no_wrong_cell(name: str, locale: str) -> None:
    data = page(PAGES / f"{name}.csv.gz").decode()
    rows = list(csv.reader(io.StringIO(data)))
    first = rows[0].index("CC") + 1
    value = rows[0].index("Metric Value") if "Metric Value" in rows[0] else None
    for row in rows[1:]:
        for at in range(first, len(row)) if value is None else (value,):
            row[at] = rendered(row[at], locale)
    again = io.StringIO()
    csv.writer(again, quoting=csv.QUOTE_ALL).writerows(rows)
    before, after = read(data), read(again.getvalue())
    assert [kernel.metrics for kernel in after.kernels] == [kernel.metrics for kernel in before.kernels]
    assert [kernel.estimates for kernel in after.kernels] == [kernel.estimates for kernel in before.kernels]


@pytest.mark.parametrize("form", ["raw", "base", "details"])
@pytest.mark.parametrize("locale", ["en_US", "de_DE"])
def test_pages_that_ncu_printed_under_three_locales_are_equal(form: str, locale: str) -> None:
    reference = read(page(LOCALE_PAGES / f"warmup.C.{form}.csv.gz"))
    other = read(page(LOCALE_PAGES / f"warmup.{locale}.{form}.csv.gz"))
    assert [kernel.metrics for kernel in other.kernels] == [kernel.metrics for kernel in reference.kernels]


def test_raw_page_gives_base_units_and_leaves_absent_metrics_out() -> None:
    kernel = read(raw_page(METRICS)).kernels[0]
    assert (kernel.name, kernel.grid, kernel.block, kernel.order) == ("mm(float *)", (64, 2, 1), (128, 1, 1), 0)
    assert kernel.value("gpu__time_duration.sum") == 634_592
    assert kernel.metrics["gpu__time_duration.sum"].unit == "ns"
    assert kernel.value("launch__grid_size") == 1056
    assert kernel.value("lts__t_sectors.sum") is None
    assert kernel.metrics["smsp__issue_active.avg.per_cycle_active"].resolution == 0.005
    assert kernel.texts == {"launch__func_cache_config": "CachePreferNone"}


def test_scaled_and_base_pages_of_one_report_agree() -> None:
    scaled, base = read(page(PAGES / "kern.raw.csv.gz")), read(page(PAGES / "kern.raw.base.csv.gz"))
    for one, two in zip(scaled.kernels, base.kernels, strict=True):
        assert one.metrics.keys() ^ two.metrics.keys() == {"derived__pct_occupancy_per_shared_mem_size"}
        for name, metric in one.metrics.items():
            tolerance = metric.resolution + two.metrics[name].resolution + 1e-9 * abs(metric.value)
            assert metric.unit == two.metrics[name].unit, name
            assert abs(metric.value - two.metrics[name].value) <= tolerance * 1.001, name


def test_details_page_names_the_metrics_of_the_raw_page() -> None:
    raw, details = read(page(PAGES / "kern.raw.csv.gz")), read(page(PAGES / "kern.details.csv.gz"))
    for one, two in zip(raw.kernels, details.kernels, strict=True):
        assert one.signature == two.signature
        assert len(two.metrics) >= 55
        for name, metric in two.metrics.items():
            exact = one.metrics[name]
            rounding = metric.resolution + exact.resolution + (0.5 if metric.resolution == 0 else 0)
            assert abs(exact.value - metric.value) <= rounding, (one.name, name)


def test_rule_estimates_are_kept_with_their_kind() -> None:
    estimates = read(page(PAGES / "kern.details.csv.gz")).kernels[5].estimates
    assert ("MemoryCacheAccessPattern", "global", 45.16) in [(e.rule, e.kind, e.percent) for e in estimates]
    assert ("HighPipeUtilization", "local", 97.09) in [(e.rule, e.kind, e.percent) for e in estimates]


def test_nvtx_columns_become_range_names() -> None:
    assert [kernel.nvtx for kernel in read(page(PAGES / "kern.raw.csv.gz")).kernels][:2] == [("copy",), ("strided",)]


def test_noise_around_and_inside_the_table_is_skipped() -> None:
    lines = raw_page(METRICS, launch(0), launch(1)).splitlines()
    noisy = [
        "==PROF== Connected to process 7 (/usr/bin/app)",
        'epoch 1, "loss": 0.5, "unbalanced',
        *lines[:3],
        "result = 42, ok",
        '"quoted, but not a launch"',
        lines[3],
        "==PROF== Disconnected from process 7",
    ]
    assert [kernel.order for kernel in read("\n".join(noisy)).kernels] == [0, 1]


def test_utf16_of_powershell_is_read() -> None:
    text = raw_page(METRICS)
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"):
        assert read(text.encode(encoding)).kernels == read(text).kernels


def test_concatenated_runs_keep_their_launches_apart() -> None:
    kernels = read(raw_page(METRICS) + "==PROF== again\n" + raw_page({"x__y.sum": ("", "1")})).kernels
    assert [(kernel.run, kernel.order, len(kernel.metrics)) for kernel in kernels] == [(0, 0, 3), (1, 0, 1)]


def test_rule_text_may_hold_commas_quotes_and_line_breaks() -> None:
    header = (*META, *SHAPE, "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type")
    header += ("Rule Description", "Estimated Speedup Type", "Estimated Speedup")
    rule = (*launch(), "SpeedOfLight", "", "", "", "R", "OPT", 'a "b",\nc – d', "global", "9.774")
    metric = (*launch(), "GPU Speed Of Light Throughput", "Duration", "us", "2.50", "")
    kernel = read(table(header, metric, rule, metric)).kernels[0]
    assert kernel.value("gpu__time_duration.sum") == 2500
    assert [(e.rule, e.percent) for e in kernel.estimates] == [("R", 9.774)]


def test_one_label_in_two_sections_means_two_metrics() -> None:
    header = (*META, *SHAPE, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
    rows = [
        (*launch(), "GPU Speed Of Light Throughput", "Memory Throughput", "%", "61.00"),
        (*launch(), "Memory Workload Analysis", "Memory Throughput", "Tbyte/s", "2.78"),
        (*launch(), "Command line profiler metrics", "dram__bytes_read.sum", "Mbyte", "1.50"),
        (*launch(), "Any", "Label of it (smsp__inst_executed.sum)", "inst", "12"),
    ]
    kernel = read(table(header, *rows)).kernels[0]
    assert kernel.value("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed") == 61
    assert kernel.value("dram__bytes.sum.per_second") == 2.78e12
    assert kernel.value("dram__bytes_read.sum") == 1.5e6
    assert kernel.value("smsp__inst_executed.sum") == 12


def test_per_kernel_summary_counts_its_launches() -> None:
    header = ("Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", "Device", "CC")
    header += ("Invocations", "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average")
    shape = ("7", "app", " ", "mm", "(128, 1, 1)", "(64, 2, 1)", "0", "8.6", "12")
    kernel = read(
        table(header, (*shape, "GPU Speed Of Light Throughput", "Duration", "us", "1.00", "3.00", "2.00"))
    ).kernels[0]
    assert (kernel.launches, kernel.value("gpu__time_duration.sum"), kernel.grid) == (12, 2000, (64, 2, 1))


def test_details_page_of_2021_has_no_grid_columns() -> None:
    header = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream")
    header += (
        "Section Name",
        "Metric Name",
        "Metric Unit",
        "Metric Value",
        "Rule Name",
        "Rule Type",
        "Rule Description",
    )
    row = (
        "0",
        "7",
        "app",
        "h",
        "mm",
        "2023-May-09 15:24:24",
        "1",
        "7",
        "GPU Speed Of Light",
        "SOL DRAM",
        "%",
        "61,50",
        "",
    )
    kernel = read(table(header, row)).kernels[0]
    assert kernel.grid == (0, 0, 0)
    assert kernel.value("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed") == 61.5


def test_unknown_units_are_left_out_and_said() -> None:
    counters = read(raw_page({"a__b.sum": ("furlong", "12"), "c__d.sum": ("", "1")}))
    assert counters.kernels[0].value("a__b.sum") is None
    assert "ncu.unknown_unit" in [note.id for note in counters.notes]


def test_a_number_that_fits_two_locales_is_left_out_and_said() -> None:
    counters = read(raw_page({"a__b.sum": ("", "12.345"), "c__d.sum": ("%", "1.50")}))
    assert counters.kernels[0].value("a__b.sum") is None
    assert "ncu.ambiguous_number" in [note.id for note in counters.notes]


def test_a_table_without_units_is_said() -> None:
    assert "ncu.no_units" in [note.id for note in read(raw_page({"c__d.sum": ("", "1")})).notes]


def test_a_cut_row_keeps_what_it_has_and_is_said() -> None:
    text = raw_page(METRICS, launch(0), launch(1)).rstrip("\n")
    counters = read(text[: text.rindex('"1,056"') + 7])
    assert [len(kernel.metrics) for kernel in counters.kernels] == [3, 2]
    assert "ncu.damaged" in [note.id for note in counters.notes]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no Nsight Compute table"),
        ("==WARNING== No kernels were profiled.\n", "no Nsight Compute table"),
        ("==ERROR== The application returned an error code (2).\n", "reported an error"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", "no permission"),
        ('"Kernel Name","f(int)",\n"Address","Source"\n', "source page"),
        ('Launch Settings\n\n"Launch Attribute","Value"\n', "session page"),
        (table((*META, *SHAPE, "a__b.sum")), "no Nsight Compute table"),
        (raw_page({"a__b.sum": ("", "n/a")}), "no Nsight Compute table"),
    ],
)
def test_a_file_without_counters_is_refused_with_the_way_out(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as refusal:
        read(text)
    assert refusal.value.file == "kernels.csv"
    assert "ncu" in (refusal.value.next_step or "")


def test_nothing_of_the_host_enters_the_counters() -> None:
    assert "127.0.0.1" not in repr(read(raw_page(METRICS)))
    assert "app" not in repr(read(raw_page(METRICS)).kernels)
