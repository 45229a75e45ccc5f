"""Runs suites at the same time, each in a process of its own: what one does to its environment or its folder, or that it
ends with an exception, is no matter of the others."""

import multiprocessing
import multiprocessing.connection
import os
import resource
import time
import traceback

import launch

BACKGROUND = 15  # nice value of what a suite prepares while others run


class Tally:
    """What a suite tells its results."""

    def __init__(self, name_filter, send):
        self.name_filter = name_filter
        self.send = send

    def wants(self, name):
        return self.name_filter in name

    def skip(self, name, why):
        self.send(("skip", name, why))

    def record(self, name, ok, output="", seconds=0.0):
        self.send(("record", name, bool(ok), output, seconds))


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def be_suite(name, module, arguments, pipe):
    begin = time.monotonic()
    launch.STARTED.clear()
    try:
        module.run(arguments, Tally(arguments.filter, pipe.send))
    except Exception:  # pylint: disable=broad-except  # the other suites go on
        pipe.send(("record", f"{name}: the suite ended with an exception", False, traceback.format_exc(), 0.0))
    pipe.send(("end", time.monotonic() - begin, processor_seconds(), launch.started()))


def be_preparation(_, module, arguments, pipe):
    """What goes wrong here goes wrong again when the suite does it, which then tells it."""
    os.nice(BACKGROUND)
    module.prepare(arguments)
    pipe.send(("end", 0.0, 0.0, 0))


class Job:
    def __init__(self, name, what, module, arguments):
        self.name = name
        self.prepares = what is be_preparation
        self.pipe, theirs = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=what, args=(name, module, arguments, theirs))
        self.process.start()
        theirs.close()


class Pool:
    """Suites that have nothing to prepare begin at once, arguments.jobs at a time. One preparation after another runs in
    the background, at low priority; its suite follows. Quiet suites come last, one by one."""

    def __init__(self, arguments, results, modules, quiet):
        self.arguments, self.results, self.modules = arguments, results, modules
        self.preparing = [name for name in modules if hasattr(modules[name], "prepare")] if len(modules) > 1 else []
        self.waiting = [name for name in modules if name not in quiet]
        self.quiet = [name for name in modules if name in quiet]
        self.jobs = []
        self.tests = dict.fromkeys(modules, 0)
        self.costs = {}

    def start(self, name, what=be_suite):
        self.jobs.append(Job(name, what, self.modules[name], self.arguments))

    def start_what_may(self):
        running = [job.name for job in self.jobs if not job.prepares]
        if self.preparing and not any(job.prepares for job in self.jobs):
            self.start(self.preparing[0], be_preparation)
        for name in [name for name in self.waiting if name not in self.preparing][:self.arguments.jobs - len(running)]:
            self.waiting.remove(name)
            self.start(name)
        if not self.jobs and self.quiet:
            self.start(self.quiet.pop(0))

    def hear(self, job, message):
        kind, *rest = message
        if kind == "record":
            self.tests[job.name] += 1
            self.results.record(*rest)
        elif kind == "skip":
            self.results.skip(*rest)
        elif not job.prepares:
            self.costs[job.name] = (self.tests[job.name], *rest)

    def ended(self, job):
        job.process.join()
        self.jobs.remove(job)
        if job.prepares:
            self.preparing.remove(job.name)
        elif job.name not in self.costs:
            status = job.process.exitcode
            self.results.record(f"{job.name}: the suite's process ended with {status}", False)

    def run(self):
        """{suite: (tests, seconds, seconds of processor time, programs started)}"""
        self.start_what_may()
        while self.jobs:
            for pipe in multiprocessing.connection.wait([job.pipe for job in self.jobs]):
                job = next(job for job in self.jobs if job.pipe is pipe)
                try:
                    self.hear(job, pipe.recv())
                except EOFError:
                    self.ended(job)
            self.start_what_may()
        return self.costs
