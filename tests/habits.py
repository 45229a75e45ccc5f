"""Counts habits of writing that make comments, messages, and pages hard to read.

python3 tests/habits.py [FOLDER...]     lists the places below the folders (default: all)
python3 tests/habits.py --counts        prints the counts per folder, as tests/habits.json has them
"""

import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STORED = os.path.join(ROOT, "tests/habits.json")
PROSE = re.compile(r"\b(?:a|and|are|if|in|is|of|the|to)\b")  # lists of names have none
LONGEST_SENTENCE = 35  # words
LONGEST_LINE = 400  # characters, of Markdown
BEGINNINGS = re.compile(r"(?:Of|The same|That of|Those of|Whose)\b|Null:|Nothing:|None:")
WORDS = re.compile(r"\b(?:nobody|whoever|somebody|told|tells|hears|of which|lets? go of|stands? for)\b", re.IGNORECASE)
TOKENS = re.compile(r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<raw>R"(?P<mark>\w*)\(.*?\)(?P=mark)")|(?P<string>"(?:\\.|[^"\\\n])*")|\'(?:\\.|[^\'\\\n])+\'',
                    re.DOTALL)
PYTHON = re.compile(r'(?P<comment>#[^\n]*)|(?P<raw>"""(?P<mark>).*?""")|(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
# The files that quote the words.
APART = ("tests/habits.py",)


def sentences(text):
    """Rows of tables (two blanks between words) and HTML tags end a sentence, too."""
    return re.split(r"(?<=[.:;?!])\s|\n\s*[-*] |\n\s*\n|\n(?=[^\n]*\S {2,}\S)|<[^<>]*>", text)


def in_text(text, begins):
    """The habits in one comment, message, or paragraph, as (offset, name)."""
    found = []
    start = re.match(r"[\s/*!<#]*", text).end()
    if begins and (beginning := BEGINNINGS.match(text, start)):
        found.append((start, f"begins with {beginning[0]!r}"))
    found += [(word.start(), f"{word[0]!r}") for word in WORDS.finditer(text)]
    position = 0
    for sentence in sentences(text):
        if PROSE.search(sentence) and len(re.findall(r"\b(?!MPI_)[A-Za-z][\w'-]*", sentence)) > LONGEST_SENTENCE:
            found.append((text.index(sentence, position), "a long sentence"))
        position = text.index(sentence, position) + len(sentence)
    return found


def in_source(text, tokens):
    """(line, habit) of a source: comments on adjoining lines are one text, and so are adjoining strings."""
    pieces = []  # kind, offset, text
    for token in tokens.finditer(text):
        kind = "comment" if token["comment"] else "string" if token["string"] or token["raw"] else None
        if kind is None:
            continue
        between = text[pieces[-1][1] + len(pieces[-1][2]):token.start()] if pieces else "x"
        alone = not text[text.rfind("\n", 0, token.start()) + 1:token.start()].strip()
        if pieces and pieces[-1][0] == kind and not between.strip() and between.count("\n") <= 1 and (kind == "string" or alone):
            last = pieces[-1]
            pieces[-1] = (kind, last[1], text[last[1]:token.end()], last[3])
        else:
            pieces.append((kind, token.start(), token[0], alone))
    found = []
    for kind, start, piece, _ in pieces:
        # Same length, so that offsets keep their meaning.
        plain = re.sub(r"\n\s*(?://+<?|#|\*(?!/))", lambda mark: mark[0].replace("/", " ").replace("#", " ").replace("*", " ").replace("<", " "), piece)
        plain = re.sub(r'"\s*"', lambda mark: " " * len(mark[0]), plain) if kind == "string" else plain
        found += [(text.count("\n", 0, start + offset) + 1, habit) for offset, habit in in_text(plain, kind == "comment")]
    return found


def in_page(text):
    found = []
    fenced = False
    paragraph, first = [], 0

    def close():
        joined = "\n".join(paragraph)
        found.extend((first + joined.count("\n", 0, offset), habit) for offset, habit in in_text(joined, True))
        paragraph.clear()

    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            close()
            fenced = not fenced
            continue
        if len(line) > LONGEST_LINE:
            found.append((number, "a long line"))
        # Code and tables are no sentences.
        if fenced or not line.strip() or line.startswith(("    ", "#", "<")):
            close()
            continue
        if line.startswith("|"):
            close()
            for cell in line.split("|"):
                found += [(number, habit) for _, habit in in_text(re.sub(r"`[^`]*`", "", cell), True)]
            continue
        first = first if paragraph else number
        paragraph.append(re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), line))
    close()
    return found


def in_file(path, text):
    if path.endswith(".md"):
        return in_page(text)
    if path.endswith((".cpp", ".hpp", ".h", ".c", ".in", ".inc")):
        return in_source(text, TOKENS)
    return in_source(text, PYTHON)


def files(folders=()):
    listed = subprocess.run(["git", "ls-files", "--", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [path for path in listed if path.endswith((".md", ".cpp", ".hpp", ".h", ".c", ".py", ".sh", ".inc")) and path not in APART
            and "/data/" not in path and "corpus" not in path and os.path.isfile(os.path.join(ROOT, path))]


def room(path):
    return "/".join(os.path.dirname(path).split("/")[:3]) or "."


def habits(folders=()):
    """Path -> [(line, habit)]."""
    found = {}
    for path in files(folders):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            if places := sorted(in_file(path, file.read())):
                found[path] = places
    return found


def counts():
    """Folder -> how many habits its files have; folders without any are left out."""
    total = collections.Counter()
    for path, places in habits().items():
        total[room(path)] += len(places)
    return dict(sorted(total.items()))


if __name__ == "__main__":
    if "--counts" in sys.argv:
        print(json.dumps(counts(), indent=1))
    else:
        for each, places in habits(sys.argv[1:]).items():
            for line, habit in places:
                print(f"{each}:{line}: {habit}")
