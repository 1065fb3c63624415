"""What runs, in one normal form however it was typed."""

from __future__ import annotations

import shlex
import string
import subprocess

import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st

from pmem.core.signature import located, normal_form, parse
from pmem.core.spelling import MAX_LINE

PLAIN = st.text(alphabet=string.ascii_letters + string.digits + "._/=-", min_size=1, max_size=8)
ANY_WORD = st.text(
    alphabet=st.characters(exclude_characters="\0\r", exclude_categories=("Cs", "Cc")), max_size=20
)
ANY_ARGUMENT = st.text(
    alphabet=st.characters(exclude_characters="\0\r", exclude_categories=("Cs",)), max_size=20
)
ANYTHING = st.text(alphabet=st.characters(exclude_categories=()), max_size=200)
PIECES = st.lists(
    st.sampled_from(
        [*"()|&;<>'\"`\\#{}![]*\n\t\0", "$(", "<<EOF\n", "EOF\n", "cd x", "&&", "||", "2>&1", "if",
         "then", "fi", "do", "done", "case", "esac", "bash -c ", "sudo ", "a", "'b c'",
         "${x}", "\ud800"]
    ),
    max_size=40,
)  # fmt: skip


def words(command: str) -> list[tuple[str, ...]]:
    return [part.words for part in parse(command)]


@pytest.mark.parametrize(
    "typed",
    [
        "npm  test",
        "npm test   # once more",
        "npm test;",
        "'npm' \"test\"",
        "npm \\\n  test",
        "npm test 2>&1",
        "npm test 2>&1 | tail -20",
        "npm test 2>/dev/null | head -n 5",
        "npm test | tail -n +3 | cat",
        "npm test > /dev/null 2>&1",
        "npm test || true",
        "npm test; true",
        'npm test; echo "exit $?"',
        "npm test; rc=$?; echo $rc; exit $rc",
        'npm test && echo "--- passed ---" || echo failed',
        'echo "=== tests ==="; npm test',
        "npm test 2>&1 | tee /tmp/out.log | tail -5",
        "time npm test",
        "timeout -k 5 60 npm test",
        "nice -n 10 npm test",
        "stdbuf -oL npm test",
        "bash -c 'npm test'",
        'sh -lc "npm   test 2>&1"',
        "bash -euo pipefail -c 'npm test'",
        "eval 'npm test'",
        "env npm test",
        "(npm test)",
        "{ npm test; }",
        "set -euo pipefail; npm test",
        "set -e\nnpm test\n",
    ],
)
def test_these_are_one_command(typed: str) -> None:
    assert normal_form(typed) == "npm test"


@pytest.mark.parametrize(
    "other",
    [
        "npm test -- --watch",
        "npm  run test",
        "npm tests",
        "NODE_ENV=ci npm test",
        "env NODE_ENV=ci npm test",
        "sudo npm test",
        "nohup npm test &",
        "npm test &",
        "npm test > out.txt",
        "npm test < in.txt",
        "npm test && npm run lint",
        "npm test | grep FAIL",
        "npm test || npm test -- -u",
        "npm 'test '",
        "(npm test) > out.txt",
        "! npm test",
        "while npm test; do :; done",
        "ls | npm test",
        "cd web && npm test",
    ],
)
def test_these_are_other_commands(other: str) -> None:
    assert normal_form(other) != "npm test"


def test_arguments_tell_commands_apart() -> None:
    forms = {normal_form(f"pytest tests/test_{name}.py -k '{name} or b'") for name in "abcdef"}
    assert len(forms) == 6


def test_an_assignment_by_env_is_one_before_the_command() -> None:
    assert normal_form("env -u X A=1 make") == normal_form("A=1 make") == "A=1 make"


def test_what_changes_how_it_runs_stays_in_the_text_but_not_in_the_words() -> None:
    (command,) = parse("sudo -u deploy env A=1 nohup make -j4 > build.log 2>&1 &")
    assert command.words == ("make", "-j4")
    assert command.text == "A=1 sudo -u deploy nohup make -j4 > build.log &"
    assert command.assignments == ("A=1",)
    assert command.redirects == ((">", "build.log"), ("2>&", "1"))


def test_a_wrapper_without_a_program_is_a_command_of_its_own() -> None:
    assert words("env") == [("env",)]
    assert words("sudo -l") == [("sudo", "-l")]
    assert words("command -v node") == [("command", "-v", "node")]
    assert words("time") == [("time",)]


def test_the_parts_of_a_compound_come_in_order() -> None:
    line = "a 1 && (b | c) || d; x=$(e $(f)) g `h` & i"
    assert words(line) == [
        *[("a", "1"), ("b",), ("c",), ("d",)],
        *[("g", "$(h)"), ("e", "$(f)"), ("f",), ("h",), ("i",)],
    ]


def test_blocks_and_functions_hold_commands() -> None:
    line = (
        "for f in *.py; do ruff $f && mypy $f; done\n"
        "if test -f x; then make; else cmake .; fi\n"
        "case $1 in a) one;; *) two;; esac\n"
        "f() { three; }; while four; do five; done < list"
    )
    assert [w[0] for w in words(line) if w] == [
        *["ruff", "mypy", "test", "make", "cmake", "one", "two", "three", "four", "five"]
    ]


def test_the_body_of_a_here_document_is_no_command() -> None:
    line = "cat > run.sh <<'EOF' && sh run.sh\nrm -rf / && $(reboot)\nEOF\nls"
    assert words(line) == [("cat",), ("sh", "run.sh"), ("ls",)]
    assert "rm" not in normal_form(line)


def test_here_documents_differ_by_their_bodies() -> None:
    one, same, other = (
        normal_form(f"python3 - <<{mark}\nprint({n})\n{mark}")
        for mark, n in (("EOF", 1), ("PY", 1), ("EOF", 2))
    )
    assert one == same != other


def test_a_script_of_another_language_is_no_command() -> None:
    assert words("python -c 'import os; os.system(\"ls\")' | awk '{print; exit}'") == [
        ("python", "-c", 'import os; os.system("ls")'),
        ("awk", "{print; exit}"),
    ]


def test_the_script_of_a_shell_is_commands() -> None:
    assert words("sudo bash -lc 'cd api && npm ci' > log") == [("cd", "api"), ("npm", "ci"), ()]
    assert words("find . | xargs -n1 sh -c 'echo $1' _") == [
        ("find", "."),
        ("xargs", "-n1", "sh", "-c", "echo $1", "_"),
    ]
    assert words("sh -c 'make $1' _ all") == [("sh", "-c", "make $1", "_", "all"), ("make", "$1")]


def test_a_long_or_many_lined_word_is_cut_and_hashed() -> None:
    one = normal_form("git commit -m 'Fix the parser\n\nbecause of a'")
    two = normal_form("git commit -m 'Fix the parser\n\nbecause of b'")
    assert one.startswith("git commit -m 'Fix the parser…") and one != two
    assert len(normal_form("echo " + "x" * 5000)) < 120


def test_two_spellings_of_an_expansion_are_one() -> None:
    assert normal_form('ls "${DIR}"/*.py') == normal_form("ls $DIR/*.py") == "ls $DIR/*.py"
    assert normal_form('echo "${a}b"') != normal_form('echo "$ab"')


def test_a_glob_is_not_its_quoted_letters() -> None:
    assert normal_form("rm *.o") == "rm *.o"
    assert normal_form("rm '*.o'") == "rm '*.o'"


def test_assignments_on_lines_of_their_own_stay_there() -> None:
    assert words("A=1\nB=2\nmake | tee x") == [(), (), ("make",), ("tee", "x")]
    assert normal_form("A=1\nmake") == "A=1; make"


def test_a_command_is_known_by_the_directory_it_runs_in() -> None:
    at_home = ("npm test", "/proj/api")
    assert located("npm test", "/proj/api") == at_home
    assert located("cd api && npm test", "/proj") == at_home
    assert located("cd ./api/; npm test 2>&1 | tail", "/proj") == at_home
    assert located("cd /proj && cd api && npm test", "/elsewhere") == at_home
    assert located("(cd /proj/api; npm test)") == at_home
    assert located("bash -lc 'cd api && npm test'", "/proj") == at_home
    assert located("cd api || exit 1; npm test", "/proj") == at_home
    assert located("cd api\nnpm test\n", "/proj") == at_home
    assert located("cd api && npm test") == ("npm test", "api")
    assert located("cd ../api && npm test", "/proj/web") == at_home
    assert located("cd ~/x && make", "/proj") == ("make", "~/x")


def test_a_directory_that_cannot_be_known_stays_in_the_command() -> None:
    assert located('cd "$DIR" && make', "/proj") == ("cd $DIR && make", "/proj")
    assert located("cd - && make", "/proj") == ("cd - && make", "/proj")
    assert located("cd api", "/proj") == ("cd api", "/proj")
    assert located("make && cd api && make", "/proj")[1] == "/proj"


def test_a_change_to_where_one_is_changes_nothing() -> None:
    assert normal_form("cd /proj && npm test", "/proj/") == "npm test"
    assert normal_form("cd . && npm test", "/proj") == "npm test"
    assert normal_form("cd api && npm test", "/proj") == "cd api && npm test"


def test_parts_know_the_directory_they_run_in() -> None:
    line = "make && cd api && (cd src; ls) && npm test | tee log; cd ..; ls"
    assert [(p.words[0], p.cwd) for p in parse(line)] == [
        *[("make", None), ("cd", None), ("cd", "api"), ("ls", "api/src")],
        *[("npm", "api"), ("tee", "api"), ("cd", "api"), ("ls", ".")],
    ]


def test_text_that_is_no_shell_keeps_its_words_on_one_line() -> None:
    assert normal_form("echo 'unfinished  \n  text") == "echo 'unfinished text"
    assert normal_form("# only a remark") == ""
    assert normal_form("  ") == ""
    assert parse("") == ()
    assert parse("[write_stdin session 12] ''")[0].words[0] == "[write_stdin"


def test_a_megabyte_is_read_to_its_limit_and_told_apart_by_the_rest() -> None:
    base = "cat > big <<'EOF'\n" + "line | of text\n" * 80_000 + "EOF\n"
    assert len(base) > 1_000_000
    assert normal_form(base + "ls") != normal_form(base + "rm x")
    assert len(normal_form("a | " * 100_000 + "b")) <= MAX_LINE


@examples(300)
@given(ANYTHING | PIECES.map("".join) | PIECES.map(" ".join))
def test_any_text_has_a_normal_form_on_one_line(text: str) -> None:
    form = normal_form(text)
    assert "\n" not in form and len(form) <= MAX_LINE
    assert located(text, "/proj")[0] in form
    for command in parse(text):
        assert "\n" not in command.text
        command.text.encode()


@examples(200)
@given(st.lists(ANY_ARGUMENT, min_size=1, max_size=5))
def test_words_come_out_as_they_were_quoted_in(arguments: list[str]) -> None:
    line = shlex.join(["run", *arguments])
    assert words(line) == [("run", *arguments)]
    spaced = "  run   " + "\t".join(shlex.quote(a) for a in arguments) + " ; "
    assert normal_form(spaced) == normal_form(line)


@examples(40)
@given(st.lists(ANY_WORD, min_size=1, max_size=4))
def test_a_normal_form_runs_as_what_it_stands_for(arguments: list[str]) -> None:
    line = shlex.join(["printf", "%s\\0", *arguments])
    run = subprocess.run(["bash", "-c", normal_form(line)], capture_output=True, check=True)
    assert run.stdout.decode().split("\0")[:-1] == arguments


SIMPLE = st.lists(PLAIN, min_size=1, max_size=4).map(lambda w: shlex.join(["run", *w]))
DECORATED = st.builds(
    str.format,
    st.sampled_from(
        ["{}", "{} 2>&1", "{} > f", "{} | grep x", "FOO=1 {}", "sudo {}", "cat <<E | {}\nbody\nE\n"]
    ),
    SIMPLE,
)
LINES = st.lists(DECORATED, min_size=1, max_size=4).flatmap(
    lambda parts: st.sampled_from([" && ", "; ", " || ", "\n"]).map(lambda joint: joint.join(parts))
)


@examples(200)
@given(LINES)
def test_a_normal_form_is_its_own_normal_form(line: str) -> None:
    form, where = located(line, "/proj")
    assert located(form, where) == (form, where)
    assert normal_form(normal_form(line)) == normal_form(line)


@example(arguments=["-"], manner="{} 2>&1 | tail -20")
@examples(200)
@given(
    st.lists(PLAIN, min_size=1, max_size=3),
    st.sampled_from(
        ["{} 2>&1 | tail -20", "{} || true", "{};", "time {}", "bash -c {q}", "({})", "{} # why",
         "{}; echo $?", "timeout 9 {}", "{} >/dev/null", "{{ {}; }} 2>&1", "set -e\n{}"]
    ),
)  # fmt: skip
def test_watching_a_command_does_not_change_it(arguments: list[str], manner: str) -> None:
    line = shlex.join(["run", *arguments])
    assert normal_form(manner.format(line, q=shlex.quote(line))) == normal_form(line)


@examples(200)
@given(st.lists(ANY_ARGUMENT, max_size=3), st.lists(ANY_ARGUMENT, max_size=3))
def test_other_arguments_are_another_command(one: list[str], other: list[str]) -> None:
    forms = {normal_form(shlex.join(["run", *arguments])) for arguments in (one, other)}
    assert len(forms) == (1 if one == other else 2)
