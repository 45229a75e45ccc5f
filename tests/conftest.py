"""Shared by all suites: the options of a run, the fixtures `arguments` and `tally`, and the costs of each suite.

A suite is a file of tests/suites. A test function takes `arguments` (the build and what to test it with) and `tally`, and records any
number of results, which all count. A function that takes `backend` runs once for each backend of the build, one that takes
`some_backend` once for one of them, and in the thorough tier for each. tests/run starts pytest and prints the totals."""

import argparse
import json
import os
import resource
import sys
import zlib
from collections import Counter

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import launch  # noqa: E402  # pylint: disable=wrong-import-position
import registry  # noqa: E402  # pylint: disable=wrong-import-position

LONGEST_OUTPUT = 12000


def pytest_addoption(parser):
    group = parser.getgroup("offramp")
    group.addoption("--build", default=os.path.join(os.path.dirname(HERE), "build"), help="the build folder to test")
    group.addoption("--backends", help="default: all backends of the build")
    group.addoption("--ranks", default="2,3,4", help="numbers of ranks")
    group.addoption("--filter", default="", help="record only results whose name contains this text")
    group.addoption("--thorough", action="store_true", help="all cases of suites that take a sample otherwise")
    group.addoption("--results", help="a file to which results and costs are appended")


def pytest_configure(config):
    build = os.path.abspath(config.getoption("build"))
    chosen = config.getoption("backends")
    config.offramp = argparse.Namespace(
        build=build, backends=chosen.split(",") if chosen else registry.backends(build), thorough=config.getoption("thorough"),
        ranks=[int(ranks) for ranks in config.getoption("ranks").split(",")])
    # The tests of the command take their environment from here.
    environment = launch.base_environment({"OFFRAMP_BUILD": build})
    for name in [name for name in os.environ if name not in environment]:
        del os.environ[name]
    os.environ.update(environment)
    if not hasattr(config, "workerinput") and config.getoption("results"):
        config.pluginmanager.register(Results(config.getoption("results"), config.getoption("filter")))


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report):
    """Prints no letters: Results prints a line for each test."""
    return report.outcome, "", ""


def pytest_generate_tests(metafunc):
    backends, thorough = metafunc.config.offramp.backends, metafunc.config.offramp.thorough
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", backends)
    if "some_backend" in metafunc.fixturenames:
        one = backends[zlib.crc32(metafunc.function.__name__.encode()) % len(backends)]
        metafunc.parametrize("some_backend", backends if thorough else [one])


def suite_of(nodeid):
    """The suite's name, from the name of its file; `cli` for the tests of the command."""
    path = nodeid.split("::")[0]
    return "cli" if path.startswith("cli/") else os.path.splitext(os.path.basename(path))[0]


def long_tests():
    with open(os.path.join(HERE, "budget.json"), encoding="utf-8") as file:
        return json.load(file)["long"]


def pytest_collection_modifyitems(config, items):
    """Without --thorough, functions with that mark are left out, even if their suite is named. The longest tests begin first, so that
    none is left over at the end. All tests of a class run in one process, since they share its setup."""
    if not config.offramp.thorough:
        items[:] = [item for item in items if not any(mark.name == "thorough" for mark in item.own_markers)]
    wanted = config.getoption("filter")
    items[:] = [item for item in items if item.cls is None or wanted in item.nodeid]  # the others filter their results
    order = {name: place for place, name in enumerate(long_tests())}
    items.sort(key=lambda item: order.get(item.nodeid, len(order)))
    for item in items:
        if item.cls is not None and "setUpClass" in vars(item.cls):
            item.add_marker(pytest.mark.xdist_group(item.cls.__name__))


@pytest.fixture(scope="session")
def arguments(pytestconfig):
    """A copy, so that changes by a suite concern its own process only."""
    return argparse.Namespace(**vars(pytestconfig.offramp))


class Tally:
    """Receives the results of a test function."""

    def __init__(self, subtests, name_filter):
        self.subtests, self.name_filter = subtests, name_filter

    def wants(self, name):
        return self.name_filter in name

    def skip(self, name, why):
        """For tests that this machine does not allow. The result is printed and counts neither as passed nor as failed."""
        with self.subtests.test(msg=name):
            pytest.skip(why)

    def record(self, name, ok, output="", seconds=0.0):
        with self.subtests.test(msg=name, seconds=round(seconds, 1)):
            if not ok:
                text = output if len(output) < LONGEST_OUTPUT else output[:3000] + "\n[...]\n" + output[-9000:]
                pytest.fail(text, pytrace=False)


@pytest.fixture
def tally(subtests, pytestconfig):
    return Tally(subtests, pytestconfig.getoption("filter"))


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.fixture(autouse=True)
def costs(request):
    """Adds the costs of the test to its report: programs started by the harness, and processor seconds of all awaited processes."""
    programs, seconds = launch.started(), processor_seconds()
    yield
    request.node.user_properties += [("launches", launch.started() - programs), ("processor", processor_seconds() - seconds)]


class Results:
    """Prints a line for each test, and appends a line of JSON for each result and for the costs of each test to a file. A test that
    records results counts by them, any other test counts itself. Failures are printed at once, so that a killed run has shown them."""

    def __init__(self, path, name_filter):
        self.name_filter = name_filter
        self.file = open(path, "a", encoding="utf-8")  # pylint: disable=consider-using-with  # closed with the process
        self.pending = set()
        self.counts, self.seconds = Counter(), Counter()

    def pytest_collection_finish(self, session):
        self.pending |= {item.nodeid for item in session.items}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.pending |= set(ids)

    def pytest_sessionfinish(self):
        """Records the tests that a process of pytest did not run before it ended."""
        for nodeid in sorted(self.pending):
            self.write(suite=suite_of(nodeid), name=f"{nodeid} was not run", outcome="failed", seconds=0.0, why="")

    def write(self, **fields):
        self.file.write(json.dumps(fields) + "\n")
        self.file.flush()

    def pytest_runtest_logreport(self, report):
        context = getattr(report, "context", None)
        if context is None:
            self.pending.discard(report.nodeid)
        suite, name = suite_of(report.nodeid), report.nodeid.split("/", 1)[-1]
        if context is None:
            self.seconds[report.nodeid] += report.duration
        if context is not None:
            self.counts[report.nodeid] += 1
            if "seconds" in context.kwargs:  # recorded by a tally, which gives whole names
                name = context.msg
            else:
                name += f" [{context.msg or ', '.join(f'{key} {value}' for key, value in context.kwargs.items())}]"
        elif report.when == "teardown":
            print(f"{report.nodeid}: {self.counts[report.nodeid] or 1} results, {self.seconds[report.nodeid]:.1f} s", flush=True)
            costs_of = dict(report.user_properties)
            self.write(suite=suite, test=report.nodeid, launches=costs_of.get("launches", 0), processor=costs_of.get("processor", 0.0))
        counts_itself = report.when == "call" and not self.counts[report.nodeid] and (
            not self.name_filter or (report.nodeid.count("::") > 1 and self.name_filter in report.nodeid))  # a method, chosen by name
        if context is not None or not report.passed or counts_itself:
            why = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
            self.write(suite=suite, name=name, outcome=report.outcome, seconds=report.duration, why=why)
        if report.failed:
            print(f"FAILED {name}\n    " + report.longreprtext.replace("\n", "\n    "), flush=True)
