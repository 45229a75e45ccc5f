"""Habits of writing that tire the reader (tests/habits.py): per folder there are no more of them than tests/habits.json says, and no fewer
either, so that the number that is stored falls with the text."""

import json

import habits


def test_counts(tally):
    with open(habits.STORED, encoding="utf-8") as file:
        stored = json.load(file)
    counted = habits.counts()
    wrong = [f"{folder}: {counted.get(folder, 0)} habits, {stored.get(folder, 0)} stored" for folder in sorted({*stored, *counted})
             if counted.get(folder, 0) != stored.get(folder, 0)]
    places = [f"{path}:{line}: {habit}" for path, found in habits.habits().items() for line, habit in found
              if counted[habits.room(path)] > stored.get(habits.room(path), 0)]
    tally.record("language/habits only become fewer (tests/habits.py --counts > tests/habits.json)", not wrong, "\n".join(wrong + places))


def test_planted(tally):
    source = '// Of a way that there is: its length.\nint a;\n/// Whose turn it is, nobody knows.\nint b;\nfail("rank 1 told " "whoever asked");\n'
    found = habits.in_file("x.cpp", source)
    tally.record("language/planted habits of a source are found", [line for line, _ in found] == [1, 3, 3, 5, 5], str(found))
    page = f"# Title\n\nSomebody {'has a word ' * 15} too many.\n\n```\nnobody counts here\n```\n\n{'x' * 401}\n"
    found = habits.in_file("x.md", page)
    tally.record("language/planted habits of a page are found", [line for line, _ in found] == [3, 3, 9], str(found))
    right = '// Returns the route. `nullopt` if no link connects the nodes.\nconst char* text = "no such file";\n'
    tally.record("language/plain sentences are not counted", not habits.in_file("x.cpp", right), "")
