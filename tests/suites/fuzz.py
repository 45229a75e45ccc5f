"""libFuzzer with every decoder of outside data, with AddressSanitizer and UndefinedBehaviorSanitizer: five seconds each, two at a time,
from the corpus in tests/fuzz/corpus. OFFRAMP_FUZZ_SECONDS sets another time."""

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from launch import base_environment, compiler_cache, run as launch

pytestmark = [pytest.mark.thorough, pytest.mark.alone]

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests/fuzz/corpus")
TARGETS = sorted(name for name in os.listdir(CORPUS) if os.path.isdir(os.path.join(CORPUS, name)))
SECONDS = int(os.environ.get("OFFRAMP_FUZZ_SECONDS", "5"))
LARGEST = 4096  # bytes of an input
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


def build(arguments):
    folder = os.path.join(arguments.build, "fuzzers")
    configure = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
                 "-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_C_COMPILER=clang", "-DOFFRAMP_FUZZERS=ON", "-DOFFRAMP_TESTS=OFF",
                 *compiler_cache()]
    targets = [f"fuzz_{name}_target" for name in TARGETS]
    for step in (configure, ["ninja", "-C", folder, *targets]):
        done = launch(step, base_environment(), 2400)
        if not done.ok:
            break
    return folder, done


def fuzz(folder, name):
    """New inputs go to a temporary folder; an input that fails is printed."""
    with tempfile.TemporaryDirectory(prefix="offramp-fuzz-") as place:
        found = os.path.join(place, "found")
        os.mkdir(found)
        command = [os.path.join(folder, "fuzz", name), f"-max_total_time={SECONDS}", f"-max_len={LARGEST}", "-seed=1",
                   "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", f"-artifact_prefix={place}/failing-",
                   found, os.path.join(CORPUS, name)]
        result = launch(command, base_environment(OPTIONS), SECONDS + 120)
        for file in sorted(os.listdir(place)):
            if file.startswith("failing-"):
                with open(os.path.join(place, file), "rb") as input_file:
                    result.output += f"\n{file}: {input_file.read(LARGEST).hex()}\n"
        return result


def test_each_decoder(arguments, tally):
    wanted = [name for name in TARGETS if tally.wants(f"fuzz/{name}")]
    if not wanted:
        return
    if shutil.which("clang++") is None:
        tally.record("fuzz/build", False, "there is no clang++; see scripts/install-packages")
        return
    folder, done = build(arguments)
    tally.record("fuzz/build", done.ok, done.output, done.seconds)
    if not done.ok:
        return
    with ThreadPoolExecutor(max_workers=2) as pool:
        for name, result in zip(wanted, pool.map(lambda name: fuzz(folder, name), wanted)):
            tally.record(f"fuzz/{name}", result.ok and "stat::number_of_executed_units" in result.output, result.output,
                         result.seconds)
