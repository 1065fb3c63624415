"""Two outputs that say the same have one fingerprint; two that do not, two."""

from __future__ import annotations

import random
import string
import uuid
from datetime import datetime, timedelta

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.fingerprint import fingerprint

SEEDS = st.integers(0, 2**32)


def run_of_the_tests(seed: int) -> str:
    """An output whose every accidental part is drawn by the seed."""
    r = random.Random(seed)
    at = datetime(2026, 1, 1) + timedelta(
        seconds=r.randrange(10**7), microseconds=r.randrange(10**6)
    )
    token = "".join(r.choices(string.ascii_lowercase + string.digits + "_", k=8))
    total = r.randrange(2, 400)
    bar = "=" * r.randrange(5, 30) + ">" + " " * r.randrange(5, 20)
    progress = "".join(f"\r{n * 10}% [{bar}] {n}/{total}" for n in range(r.randrange(1, 6)))
    colour = r.choice(["", "\x1b[31m", "\x1b[1;38;5;196m"])
    return "\n".join(
        [
            f"{at.isoformat()}Z starting, pid {r.randrange(100, 99999)}",
            f"[{at:%H:%M:%S}] {at:%a %b %d %H:%M:%S %Y} worker[{r.randrange(100, 99999)}]: up",
            f"{progress}",
            f"Downloaded at {r.uniform(0.1, 900):.1f} MB/s, {r.randrange(100)}% done",
            f"object at 0x{r.randrange(16**8, 16**12):x} of Thing@{r.randrange(16**7, 16**8):x}",
            f"request {uuid.UUID(int=r.getrandbits(128))} to 127.0.0.1:{r.randrange(33000, 60999)}",
            f"writing /tmp/tmp{token}/app/config.py:12",
            f"writing /var/folders/ab/c1d2/T/tmp.{token}Ab/app.py:12",
            f"goroutine {r.randrange(1, 500)} [running]:",
            f"{colour}src/app.py:41: error: name 'x' is not defined{colour and chr(27) + '[0m'}",
            f"--- FAIL: TestThing ({r.uniform(0, 20):.2f}s)",
            f"3 failed, 12 passed in {r.uniform(0, 200):.2f}s",
            f"took {r.randrange(1, 9)}m{r.uniform(0, 59):.3f}s, real\t0m{r.uniform(0, 59):.3f}s",
        ]
    )


@examples(200)
@given(SEEDS, SEEDS)
def test_times_addresses_ids_temporary_names_and_progress_do_not_count(one: int, two: int) -> None:
    assert fingerprint(run_of_the_tests(one)) == fingerprint(run_of_the_tests(two))


CHANGES = [
    ("is not defined", "is not callable"),
    ("src/app.py:41", "src/app.py:42"),
    ("src/app.py:41", "src/main.py:41"),
    ("app/config.py:12", "app/config.py:13"),
    ("config.py:12", "settings.py:12"),
    ("TestThing", "TestOther"),
    ("3 failed", "4 failed"),
    ("12 passed", "13 passed"),
    ("starting", "stopping"),
    ("error:", "warning:"),
]


@given(SEEDS, SEEDS, st.sampled_from(CHANGES))
def test_words_files_lines_and_counts_of_tests_count(
    one: int, two: int, change: tuple[str, str]
) -> None:
    before, after = run_of_the_tests(one), run_of_the_tests(two)
    assert change[0] in after
    assert fingerprint(before) != fingerprint(after.replace(*change))


LETTERS = st.text(alphabet=string.ascii_letters + " :.'()", min_size=1, max_size=40)


@examples(200)
@given(LETTERS, LETTERS)
def test_other_messages_differ(one: str, two: str) -> None:
    same = " ".join(one.split()) == " ".join(two.split())
    assert (fingerprint(f"Error {one}") == fingerprint(f"Error {two}")) is same


@examples(200)
@given(
    st.integers(1, 9999), st.integers(1, 9999), st.sampled_from(["a.c:{}:3: x", "line {}", "v{}"])
)
def test_other_line_numbers_differ(one: int, two: int, line: str) -> None:
    assert (fingerprint(line.format(one)) == fingerprint(line.format(two))) is (one == two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("/tmp/report-a.txt is missing", "/tmp/report-b.txt is missing"),
        ("/tmp/x.py:3: bad", "/tmp/x.py:4: bad"),
        ("connect to localhost:8080", "connect to localhost:8081"),
        ("lodash@4.17.20", "lodash@4.17.21"),
        ("exit code 1", "exit code 2"),
        ("HTTP 404", "HTTP 500"),
        ("commit 3f2a9c1", "commit 4f2a9c1"),
        ("a/b", "a/c"),
        ("없는 파일: 가.txt", "없는 파일: 나.txt"),
        ("", "x"),
    ],
)
def test_these_two_are_not_the_same(one: str, two: str) -> None:
    assert fingerprint(one) != fingerprint(two)


def test_a_progress_display_counts_once_however_long_it_ran() -> None:
    def output(ticks: int) -> str:
        shown = "\n".join(f"Receiving objects: {n}% ({n}/{ticks})" for n in range(ticks))
        return f"{shown}\nfatal: early EOF"

    assert fingerprint(output(3)) == fingerprint(output(90))


@examples(200)
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300))
def test_any_text_has_a_fingerprint(text: str) -> None:
    assert len(fingerprint(text)) == 16
    assert fingerprint(text) == fingerprint(text)


def test_of_a_very_long_output_both_ends_count() -> None:
    noise = [f"compiled unit-{'abcdefgh'[n % 8]}{n}.o" for n in range(50_000)]
    output = "\n".join(["start", *noise, "end"])
    assert fingerprint(output) == fingerprint(output)
    assert fingerprint(output) != fingerprint(output.replace("start", "begin"))
    assert fingerprint(output) != fingerprint(output[:-3] + "error: no")
