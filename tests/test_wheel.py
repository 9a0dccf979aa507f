"""What is released works where it lands: sdist, wheel, and an environment that holds what the wheel requires."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

hatchling = pytest.importorskip("hatchling", reason="hatchling is not installed: nothing is built")
packaging = pytest.importorskip("packaging.requirements")

BUILD = "import sys; from hatchling import build; print(getattr(build, f'build_{sys.argv[1]}')(sys.argv[2]))"
PACKAGES = ("stallscope", "dashboards/stallscope_dashboard", "probes/stallscope_probes")
EXTRAS = ("dash", "plotly", "torch", "distributed", "cuda")
SAMPLE = "sample_traces/h200/py_alloc_sync.sqlite"


def build(kind: str, source: Path, target: Path, *, pure: bool = False) -> Path:
    """Path of the sdist or wheel of `source`."""
    environment = {name: value for name, value in os.environ.items() if name != "STALLSCOPE_PURE"}
    command = [sys.executable, "-c", BUILD, kind, target]
    ran = subprocess.run(
        command,
        cwd=source,
        env={**environment, **({"STALLSCOPE_PURE": "1"} if pure else {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return target / ran.stdout.split()[-1]


# Filters came with Python 3.10.12 and 3.11.4; from 3.12 on it warns where none is given.
FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


@pytest.fixture(scope="module")
def unpacked_sdist(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources as somebody gets them who has no checkout."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", repository, folder)) as archive:
        archive.extractall(folder, **FILTER)  # noqa: S202 - our own archive
    return next(path for path in folder.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def wheel(unpacked_sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the sdist, without compiled libraries."""
    return build("wheel", unpacked_sdist, tmp_path_factory.mktemp("wheel"), pure=True)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, no extras, and nothing that it does not require."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    link_required(required_by(wheel), site_packages(folder))
    install = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "--disable-pip-version-check"]
    subprocess.run([*install, "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    subprocess.run([*install, "check"], check=True, capture_output=True)
    return folder


def site_packages(environment: Path) -> Path:
    return next((environment / "lib").glob("python*/site-packages"))


def required_by(wheel: Path) -> list[str]:
    """What the wheel's metadata asks for without extras."""
    with ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    return needed_here(metadata.get_all("Requires-Dist") or [])


def link_required(pending: list[str], site: Path) -> None:
    """Links to the installed packages of these names, and to what they require."""
    seen = set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        found = distribution(name)
        pending += needed_here(found.requires or [])
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(found.locate_file(top))))


def needed_here(requirements: list[str]) -> list[str]:
    """Names of the packages that are needed on this machine."""
    parsed = [packaging.Requirement(text) for text in requirements]
    return [need.name for need in parsed if need.marker is None or need.marker.evaluate({"extra": ""})]


def run(environment: Path, *arguments: str | Path, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """The installed program, far from the checkout."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "STALLSCOPE_PURE"}}
    command = [environment / "bin" / "stallscope", *arguments]
    ran = subprocess.run(
        command, cwd=environment, env={**kept, **variables}, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == code, ran.stderr
    return ran


def files_of(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_sdist_holds_every_tracked_file(repository: Path, unpacked_sdist: Path) -> None:
    if not (repository / ".git").exists():
        pytest.skip("not a git checkout: tracked files are unknown")
    listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True)
    missing = {name for name in listed.stdout.splitlines() if not (unpacked_sdist / name).exists()}
    assert missing == set()


def test_every_file_of_the_packages_is_in_the_wheel(repository: Path, wheel: Path) -> None:
    held = files_of(wheel)
    for package in PACKAGES:
        source = repository / package
        files = {file for file in source.rglob("*") if file.is_file() and file.suffix not in {".pyc", ".so"}}
        names = {f"{source.name}/{file.relative_to(source).as_posix()}" for file in files}
        assert names - held == set()
    pages = {f"stallscope/docs/waits/{file.name}" for file in (repository / "docs" / "waits").glob("*.md")}
    assert pages <= held


def test_nothing_else_is_in_the_wheel(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in files_of(wheel)}
    assert tops == {"stallscope", "stallscope_dashboard", "stallscope_probes"}


def test_environment_has_no_extras(environment: Path) -> None:
    import_them = f"import importlib.util as u; print([n for n in {EXTRAS} if u.find_spec(n)])"
    ran = subprocess.run(
        [environment / "bin" / "python", "-I", "-c", import_them], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_installed_program_tells_version_help_waits_and_schema(environment: Path, repository: Path) -> None:
    assert run(environment, "--version").stdout.startswith("stallscope")
    assert "analyze" in run(environment, "--help").stdout
    assert run(environment, "explain", "alloc.sync").stdout.startswith("# alloc.sync\n")
    assert "alloc.sync" in run(environment, "rules").stdout
    schema = repository / "stallscope" / "schema" / "analysis-1.0.json"
    assert run(environment, "schema").stdout == schema.read_text("utf-8")


def test_installed_program_writes_every_kind_of_report(environment: Path, repository: Path, tmp_path: Path) -> None:
    trace, document = repository / SAMPLE, tmp_path / "r.json"
    outputs = [
        argument for suffix in ("html", "md", "sarif", "xml", "csv") for argument in ("-o", tmp_path / f"r.{suffix}")
    ]
    run(environment, "analyze", "--no-cache", trace, *outputs, "-o", document)
    assert "alloc.sync" in (tmp_path / "r.html").read_text("utf-8")
    assert all((tmp_path / f"r.{suffix}").stat().st_size for suffix in ("md", "sarif", "xml", "csv"))
    assert " 1 alloc.sync" in run(environment, "report", document).stdout
    run(environment, "check", document, "--fail-on", "alloc.sync>5%", code=1)
    run(environment, "export", trace, "--to", "perfetto", "-o", tmp_path / "t.pftrace.gz")


def test_installed_doctor_looks_at_the_machine_and_at_a_trace(environment: Path, repository: Path) -> None:
    assert "profile with nsys" in run(environment, "doctor", repository / SAMPLE).stdout


def test_what_needs_an_extra_says_which(environment: Path, repository: Path) -> None:
    told = run(environment, "dashboard", repository / SAMPLE, code=4).stderr
    assert "pip install 'stallscope[dashboard]'" in told
    assert "Traceback" not in told


def test_bill_of_materials_lists_what_is_required(environment: Path, wheel: Path, tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx_py", reason="cyclonedx-bom is not installed: no bill of materials is written")
    bill = tmp_path / "sbom.json"
    options = ["environment", "--output-reproducible", "--of", "JSON", "-o", bill, environment / "bin" / "python"]
    subprocess.run([sys.executable, "-m", "cyclonedx_py", *options], check=True, capture_output=True, timeout=120)
    text = bill.read_text("utf-8")
    document = json.loads(text)
    assert document["bomFormat"] == "CycloneDX"
    listed = {component["name"].lower().replace("_", "-"): component for component in document["components"]}
    assert {name.lower() for name in required_by(wheel)} | {"stallscope"} <= listed.keys()
    assert all(component["version"] for component in listed.values())
    assert not set(EXTRAS) & listed.keys()


def test_compiled_wheel_differs_by_its_libraries_only(
    unpacked_sdist: Path, wheel: Path, environment: Path, repository: Path, tmp_path: Path
) -> None:
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler: the wheel with compiled libraries is not built")
    compiled = build("wheel", unpacked_sdist, tmp_path)
    libraries = files_of(compiled) - files_of(wheel)
    assert files_of(wheel) < files_of(compiled)
    assert all(name.startswith("stallscope/") and name.endswith(".so") for name in libraries)
    assert wheel.name.endswith("-py3-none-any.whl")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert compiled.name.endswith(f"-py3-none-{platform}.whl")
    document = ("analyze", "--no-cache", repository / SAMPLE, "--format", "json")
    pure = run(environment, *document).stdout
    with ZipFile(compiled) as archive:
        for name in libraries:
            archive.extract(name, site_packages(environment))
    assert run(environment, *document).stdout == pure
