"""A labelled dataset that is made here: runs that go wrong in ways a reminder would have helped,
and healthy ones. For where the recorded ones are not beside the checkout, and for models that are
too small for those."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
LIBRARIES = ("zstd", "lmdb", "pcre2", "uuid")
TOOLS = ("rg", "fd")
HEALTHY = ("limit", "depth", "width", "delay")


def command(action: str, output: str = "", code: int = 0) -> dict[str, Any]:
    return {"kind": "command", "action": action, "observation": output, "exit_code": code}


def edit(path: str, change: str) -> dict[str, Any]:
    return {
        "kind": "edit",
        "action": f"edit {path}: {change}",
        "observation": f"{path} was changed",
        "exit_code": None,
    }


def blind(library: str, n: int) -> tuple[str, list[dict[str, Any]], list[Row]]:
    """A header is missing; the source is edited and built over and over before it is installed."""
    source = f"src/{library}_io.c"
    missing = f"{source}:3:10: fatal error: {library}.h: No such file or directory"
    steps = [
        command("ls", f"Makefile src tests README{n}.md"),
        command("make", missing, 2),
        command(f"cat {source}", f"#include <stdio.h>\n\n#include <{library}.h>"),
        edit(source, f"#include <{library}/{library}.h>"),
        command("make", missing, 2),
        edit(source, f'#include "{library}.h"'),
        command("make", missing, 2),
        edit(source, f"#include <lib{library}.h>"),
        command("make", missing, 2),
        command(f"apt-get install -y lib{library}-dev", f"Setting up lib{library}-dev"),
        command("make", "cc -o app"),
        command("make check", "12 passed"),
        command("git add -A", ""),
        command(f"git commit -m 'Build with {library}'", "1 file changed"),
    ]
    told = (
        f"{library}.h: No such file or directory: make failed so at steps 2 and 5, and the edits of"
        f" {source} in between did not change it; lib{library}-dev is not installed."
    )
    labels = [window(6, 9, "repeat_failure", told), silent(1, 5), silent(10, 14)]
    return f"Make the build with {library} pass and commit it.", steps, labels


def no_tool(tool: str, n: int) -> tuple[str, list[dict[str, Any]], list[Row]]:
    """A tool is not there, and is used again much later."""
    steps = [
        command("ls", f"lib tests setup{n}.py"),
        command(f"{tool} parse_header lib", f"bash: {tool}: command not found", 127),
        command("grep -rn parse_header lib", "lib/http.py:41: def parse_header(line):"),
        command("sed -n 35,60p lib/http.py", "def parse_header(line):\n    return line.split(':')"),
        edit("lib/http.py", "split(':', 1)"),
        command("pytest -q", "24 passed"),
        command("git diff --stat", "lib/http.py | 2 +-"),
        command("sed -n 1,30p lib/http.py", "import re"),
        command("git log --oneline -3", "a1 b2 c3"),
        command("cat tests/test_http.py", "def test_header(): ..."),
        command(f"{tool} split lib", f"bash: {tool}: command not found", 127),
        command("grep -rn split lib", "lib/url.py:12: path.split('/')"),
        command("git commit -am 'Split a header once'", "1 file changed"),
    ]
    told = f"{tool} is not installed here: `{tool} parse_header lib` was not found at step 2."
    labels = [window(11, 11, "repeat_failure", told), silent(1, 10), silent(12, 13)]
    return f"A header with two colons is cut off. Fix it ({tool}).", steps, labels


def healthy(name: str, n: int) -> tuple[str, list[dict[str, Any]], list[Row]]:
    """Failures that tell their own remedy, and work that goes well."""
    steps = [
        command("ls", "go.mod main.go"),
        command("go build ./...", f"main.go:{10 + n}:2: undefined: {name}", 1),
        edit("main.go", f"var {name} = 3"),
        command("go build ./...", f"main.go:{20 + n}:5: missing return", 1),
        edit("main.go", f"return {name}"),
        command("go build ./...", ""),
        command("go test ./...", f"--- FAIL: Test{name.title()} (0.00s)\n    got 3, want 4", 1),
        edit("main.go", f"var {name} = 4"),
        command("go test ./...", "ok"),
        command("gofmt -l .", ""),
        command("git diff", f"+var {name} = 4"),
        command("git push", "rejected: the remote has work that you do not have; pull first", 1),
        command("git pull --rebase", "Successfully rebased"),
        command("git push", f"main -> main ({name})"),
    ]
    return f"Add the variable {name} that the tests want, and push.", steps, [silent(1, 14)]


def played() -> Iterator[Row]:
    """What an honest model answered, asked after some steps: it keeps what it saw, and speaks once
    the same failure has come back."""
    for library in LIBRARIES:
        id, kept = f"blind-{library}", f"step 2: {library}.h: No such file or directory"
        known = {"id": "header", "content": f"{kept}; make failed"}
        again = {**known, "content": f"{kept}; again at step 5 after an edit of src/{library}_io.c"}
        said = (
            f"{library}.h: No such file or directory: make failed so at steps 2 and 5; the edit of"
            f" src/{library}_io.c did not change it."
        )
        yield answered(id, 2, knowledge=[known])
        yield answered(id, 5, knowledge=[again], say={"text": said, "entries": ["header"]})
        yield answered(id, 10, status="the library is installed")
    for name in HEALTHY:
        yield answered(f"healthy-{name}", 2, status=f"{name} is to be added")
        yield answered(f"healthy-{name}", 12)


def answered(id: str, after: int, **answer: Any) -> Row:
    return {"trajectory": id, "after_step": after, "answer": answer}


def window(first: int, last: int, reason: str, told: str) -> Row:
    return {
        "type": "intervene",
        "before_step": last,
        "earliest": first,
        "latest": last,
        "reason": reason,
        "evidence": [2],
        "reminder": told,
        "confidence": "high",
        "needs_action_preview": False,
    }


def silent(first: int, last: int) -> Row:
    return {"type": "silence", "from": first, "to": last, "why": "healthy"}


def write(folder: Path, *, most: int = 9) -> Path:
    """The dataset in a directory, which is made, with at most so many runs of each kind."""
    made = [(f"blind-{name}", blind(name, n)) for n, name in enumerate(LIBRARIES[:most])]
    made += [(f"tool-{name}", no_tool(name, n)) for n, name in enumerate(TOOLS[:most])]
    made += [(f"healthy-{name}", healthy(name, n)) for n, name in enumerate(HEALTHY[:most])]
    manifest, labels = [], []
    for id, (task, steps, own) in made:
        lines = [{"step": n, **step} for n, step in enumerate(steps, start=1)]
        header = {"id": id, "task": task, "n_steps": len(lines)}
        put(folder / "steps" / f"{id}.jsonl", [header, *lines])
        manifest.append({"id": id, "set": "scripted", "n_steps": len(lines)})
        labels += [{"trajectory": id, "n_steps": len(lines), **label} for label in own]
    put(folder / "manifest.jsonl", manifest)
    put(folder / "labels" / "played_decisions.jsonl", list(played()))
    put(folder / "labels" / "labels.jsonl", labels)
    return folder


def put(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
