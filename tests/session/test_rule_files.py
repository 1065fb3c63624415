"""Rule files are found at the root and on the way to the working directory."""

from __future__ import annotations

from pathlib import Path

from pmem.session.rule_files import RuleFiles


def test_the_roots_file_comes_first_then_the_nested_one(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("root rule\n")
    nested = tmp_path / "web" / "app"
    nested.mkdir(parents=True)
    (nested / "CLAUDE.md").write_text("nested rule\n")
    found = RuleFiles(tmp_path, nested).read()
    assert found == [("AGENTS.md", "root rule\n"), ("web/app/CLAUDE.md", "nested rule\n")]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("old\n")
    rules = RuleFiles(tmp_path, tmp_path)
    assert rules.read() == [("AGENTS.md", "old\n")]
    file.write_text("newer\n")
    assert rules.read() == [("AGENTS.md", "newer\n")]
    file.unlink()
    assert rules.read() == []


def test_a_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("secret\n")
    root = tmp_path / "project"
    root.mkdir()
    (root / "AGENTS.md").symlink_to(outside)
    assert RuleFiles(root, root).read() == []


def test_bytes_that_are_no_utf8_do_not_hinder(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"never \xff push\n")
    assert RuleFiles(tmp_path, tmp_path).read() == [("AGENTS.md", "never \ufffd push\n")]
