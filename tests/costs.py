"""What suites take, and how many programs they may start."""

import os
import re

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs/testing.md")


def show(taken):
    """taken: {suite: (tests, seconds, seconds of processor time, programs started)}. Processor time is that of everything whose end was
    waited for. As rows of the table in docs/testing.md."""
    print("\n| suite | tests | launches | seconds | processor seconds |\n|---|---|---|---|---|")
    total = [sum(column) for column in zip(*taken.values())]
    for name, (tests, seconds, cpu, launches) in [*((f"`{name}`", row) for name, row in taken.items()), ("all", total)]:
        print(f"| {name} | {tests} | {launches} | {seconds:.0f} | {cpu:.0f} |")


def documented():
    """{suite: launches}, by the table in docs/testing.md, which does not have those of every suite."""
    with open(PAGE, encoding="utf-8") as file:
        return {name: int(launches) for name, launches in re.findall(r"^\| `(\w+)` \| \d+ \| (\d+) \|", file.read(), re.M)}


def hold(taken, results, table=None):
    """Most of a run goes into starting programs. Their number is the same on every machine, busy or not: a suite that starts more than
    the table has is a failure. There is some room, because a start that mpirun loses is tried again."""
    table = documented() if table is None else table
    more = {name: launches for name, (*_, launches) in taken.items() if name in table and launches > 1.1 * table[name] + 5}
    results.record("costs/no suite starts more programs than docs/testing.md has", not more, f"{more}\nthe table has {table}")
