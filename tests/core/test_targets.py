"""Which files a line writes and which it names."""

from __future__ import annotations

import pytest

from pmem.core.targets import names, writes


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("echo x > a.txt 2>&1", ("a.txt",)),
        ("cd web && echo x >> src/a.txt", ("web/src/a.txt",)),
        ("cd web && touch /abs ~/home", ("/abs", "~/home")),
        ("cat x 2> errors | tee -a log.txt", ("errors", "log.txt")),
        ("sed -i 's/a/b/' src/x.py y.py", ("src/x.py", "y.py")),
        ("sed -i '' 's/a/b/' x.py", ("x.py",)),
        ("sed -e s/a/b/ -i x.py", ("x.py",)),
        ("sed -n 's/a/b/p' x.py", ()),
        ("perl -pi -e 's/a/b/' x.py", ("x.py",)),
        ("mv a b/", ("a", "b/", "b/a")),
        ("cp -r src/a.py dst/", ("dst/", "dst/a.py")),
        ("rm -rf build 'my file'", ("build", "my file")),
        ("git rm --cached a; git checkout -- b; git status c", ("a", "b")),
        ("chmod +x run.sh", ("run.sh",)),
        ("python x.py > /dev/null 2>&1", ()),
        ("curl -o out.tgz https://x/y", ("out.tgz",)),
        ("cat > $HOME/x <<EOF\nrm y\nEOF", ("$HOME/x",)),
        ("{ a; b; } > both", ("both",)),
        ("bash -c 'cd sub && touch a'", ("sub/a",)),
        ("prettier --write src/*.ts; prettier --check lib", ("src/*.ts",)),
        ("sudo tee /etc/hosts", ("/etc/hosts",)),
    ],
)
def test_the_files_a_line_writes(command: str, written: tuple[str, ...]) -> None:
    assert writes(command) == written


def test_the_files_a_line_names() -> None:
    line = (
        "cd web && ./run.sh --config=conf/a.toml -v in.json < data.csv | grep 'a b' src/x.py > out"
    )
    assert set(names(line)) >= {
        *["web", "web/run.sh", "web/conf/a.toml", "web/in.json", "web/data.csv"],
        *["web/src/x.py", "web/out"],
    }
    assert "web/a b" not in names(line)


def test_a_text_is_no_path() -> None:
    assert names("git commit -m 'rewrite src/x.py'") == ("commit",)
    assert writes("rm '" + "x" * 5000 + "'") == ()
