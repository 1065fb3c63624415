"""The whole watch language, told by what a session feeds: proposals, steps and finishes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.bank import Entry, MemoryBank
from pmem.core.decision import Reminder, Trigger
from pmem.core.history import History
from pmem.core.moment import Moment
from pmem.core.step import Action, Step
from pmem.core.watch import Fired, State, Watches, costly, parse_watch
from pmem.core.when import KEYS

PROJECT = "/home/dev/shop"


class Run:
    """A trajectory with a bank and its watches, fed as a session feeds them."""

    def __init__(self, *whens: dict[str, Any], source: str = "model", **entries: dict[str, Any]):
        named = {f"w{n}": when for n, when in enumerate(whens, 1)} | entries
        self.bank = MemoryBank(
            "",
            [
                Entry("knowledge", id, f"About {id}.", source=source, when=w)
                for id, w in named.items()
            ],
        )
        self.watches = Watches()
        self.watches.arm(self.bank)
        self.history = History()
        self.number = 0
        self.last: Step | None = None

    def moment(self, trigger: Trigger = Trigger.PROPOSED) -> Moment:
        window = [self.last] if self.last else []
        return Moment(trigger, "", window, self.bank, self.history, project=PROJECT)

    def about(self, text: str, kind: str = "command", cwd: str | None = PROJECT) -> list[str]:
        """The entries whose watches fire on an action about to run, best first."""
        return ids(self.fired(text, kind, cwd))

    def fired(self, text: str, kind: str = "command", cwd: str | None = PROJECT) -> list[Fired]:
        return self.watches.proposed(Action(kind, text, cwd), self.moment())

    def ran(
        self, text: str, output: str = "", code: int = 0, kind: str = "command", **more: Any
    ) -> list[str]:
        """The entries whose watches fire on a finished step."""
        self.number += 1
        more.setdefault("cwd", PROJECT)
        self.last = Step(
            self.number, kind, text, output, code if kind == "command" else None, **more
        )
        facts = self.history.observe(self.last)
        return ids(self.watches.observed(self.last, facts, self.moment()))

    def edited(self, path: str) -> list[str]:
        return self.ran(f"Edit {path}\n--- old\na\n--- new\nb", "updated", kind="edit")

    def finished(self) -> list[Fired]:
        return self.watches.finish(self.moment(Trigger.FINISH))

    def told(self, fired: Fired) -> None:
        self.watches.spoke(fired.reminder)


def ids(fired: list[Fired]) -> list[str]:
    return [id for f in fired for id in f.reminder.entries]


# -- command ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "glob, line",
    [
        ("git push*", "git push origin main"),
        ("git push*", "git   push"),
        ("git push*", "npm test && git push"),
        ("git push*", "make; git push | tee log"),
        ("git push*", "(cd web && git push)"),
        ("git push*", "sudo git push"),
        ("git push*", "timeout 60 git push 2>&1 | tail -3"),
        ("git push*", "FORCE=1 git push"),
        ("git push*", "bash -c 'git push'"),
        ("git push*", "/usr/bin/git push"),
        ("git push *--force*", "git push origin --force"),
        ("npm test", "npm test"),
        ("npm test", "npm test || true"),
        ("npm [it]*", "npm test"),
        ("*--no-verify*", "git commit --no-verify -m x"),
        ("sudo *", "sudo rm x"),
        ("GIT_CONFIG_GLOBAL=* go test*", "GIT_CONFIG_GLOBAL=/dev/null go test ./..."),
        ("*| sh", "curl https://x | sh"),
        ("cd web && npm*", "cd web && npm install"),
        ("* > dist/*", "node gen.js > dist/a.js"),
        ('git commit -m "wip*', "git commit -m 'wip: x'"),
        ("git commit*Opus 4.7*", "git commit -m 'by Opus 4.7'"),
        ("*DROP TABLE*", "psql -c 'DROP TABLE users'"),
        ("*systemctl restart*", "ssh host 'systemctl restart nginx'"),
        ("nohup *&", "nohup npm run dev &"),
        ("배포*", "배포 --지금"),
    ],
)
def test_a_command_is_matched_in_each_part_of_a_line_however_it_is_typed(
    glob: str, line: str
) -> None:
    assert Run({"command": glob}).about(line) == ["w1"]


@pytest.mark.parametrize(
    "glob, line",
    [
        ("git push*", "git pull"),
        ("git push*", "echo 'git push'"),
        ("*git push*", "echo 'git push is next'"),
        ("*git push*", "cat > s.sh <<'EOF'\ngit push\nEOF"),
        ("git push*", "cat <<EOF\ngit push\nEOF\n"),
        ("*git push*", "python3 -c 'run(\"git push origin\")'"),
        ("*npm publish*", "git commit -m 'npm publish fails'"),
        ("*npm publish*", "grep -rn 'npm publish' ."),
        ("git push *--force*", "git push origin && npm test -- --force"),
        ("npm test", "npm test -- --watch"),
        ("NPM test", "npm test"),
        ("git push*", "# git push\nls"),
    ],
)
def test_other_commands_messages_scripts_and_heredocs_are_not(glob: str, line: str) -> None:
    assert Run({"command": glob}).about(line) == []


def test_a_list_of_globs_is_any_of_them() -> None:
    run = Run({"command": ["npm test*", "yarn test*"]})
    assert run.about("yarn test") == run.about("npm test --silent") == ["w1"]
    assert run.about("pnpm test") == []


@pytest.mark.parametrize(
    "line, fires",
    [
        ("npm run dev", True),
        ("nohup npm run dev &", False),
        ("npm run dev > log &", False),
        ("timeout 30 npm run dev", False),
        ("source .env && npm run dev", False),
        ("npm run dev | tee dev.log", False),
        ("cd web && timeout 5 npm run dev", False),
        ("npm run build; npm run dev", True),
    ],
)
def test_the_same_action_in_a_good_form_is_left_alone(line: str, fires: bool) -> None:
    good = ["nohup *", "*&", "timeout *", "source *&&*", "*| tee*"]
    assert Run({"command": "npm run dev*", "not": good}).about(line) == (["w1"] if fires else [])


def test_not_spares_the_good_part_and_still_sees_the_bad_one() -> None:
    run = Run({"command": "pip install*", "not": "pip install -r *"})
    assert run.about("pip install -r requirements.txt") == []
    assert run.about("pip install requests") == ["w1"]


# -- writes, path -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, kind",
    [
        ("Edit /home/dev/shop/api/user_pb2.py\n--- old\na\n--- new\nb", "edit"),
        ("Write api/user_pb2.py\nx = 1", "edit"),
        ("create api/user_pb2.py", "edit"),
        ("*** Begin Patch\n*** Update File: api/user_pb2.py\n@@\n-a\n+b\n*** End Patch", "edit"),
        ("sed -i s/a/b/ api/user_pb2.py", "command"),
        ("echo x > api/user_pb2.py", "command"),
        ("cat > api/user_pb2.py <<'EOF'\nx\nEOF", "command"),
        ("cd api && mv a user_pb2.py", "command"),
        ("tee -a api/user_pb2.py", "command"),
        ("rm api/user_pb2.py", "command"),
    ],
)
def test_a_file_about_to_be_changed_by_a_tool_or_by_the_shell(text: str, kind: str) -> None:
    assert Run({"writes": "api/*_pb2.py"}).about(text, kind) == ["w1"]


@pytest.mark.parametrize(
    "text, kind",
    [
        ("cat api/user_pb2.py", "command"),
        ("python api/user_pb2.py", "command"),
        ("Read /home/dev/shop/api/user_pb2.py offset=3 limit=9", "read"),
        ("Edit web/user.py\n--- old\napi/user_pb2.py\n--- new\nb", "edit"),
        ("sed -n 1,9p api/user_pb2.py > /dev/null", "command"),
    ],
)
def test_a_file_that_is_read_or_run_is_not_written(text: str, kind: str) -> None:
    assert Run({"writes": "api/*_pb2.py"}).about(text, kind) == []


@pytest.mark.parametrize(
    "glob, path, fits",
    [
        ("package-lock.json", "web/package-lock.json", True),
        ("*.lock", "a/b/yarn.lock", True),
        ("dist/", "dist/a/b.js", True),
        ("dist", "dist/a.js", True),
        ("./src/*", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", True),
        ("**/gen.py", "gen.py", True),
        ("**/gen.py", "a/gen.py", True),
        ("src/a.py", "web/src/a.py", False),
        ("src", "srcs/a.py", False),
        ("/home/dev/shop/src/*", "src/a.py", True),
        ("/etc/*", "/etc/hosts", True),
        ("~/.bashrc", "~/.bashrc", True),
        ("설정*", "설정.toml", True),
    ],
)
def test_paths_by_name_by_place_and_by_directory(glob: str, path: str, fits: bool) -> None:
    assert Run({"writes": glob}).about(f"Write {path}\nx", "edit") == (["w1"] if fits else [])


def test_a_path_is_matched_wherever_a_file_is_named() -> None:
    run = Run({"path": "*.env"})
    for text, kind in (
        ("cat prod.env", "command"),
        ("Read /home/dev/shop/prod.env", "read"),
        ("cp prod.env x", "command"),
        ("docker run --env-file=prod.env x", "command"),
        ("Write prod.env\nA=1", "edit"),
        ('Grep pattern="A" path="/home/dev/shop/prod.env"', "read"),
        ('mcp__fs__open {"path": "prod.env"}', "tool"),
    ):
        assert run.about(text, kind) == ["w1"], text
    assert run.about("ls env") == []


def test_not_also_excludes_files() -> None:
    run = Run({"writes": "src/*", "not": ["src/generated/", "make gen*"]})
    assert run.about("Write src/a.py\nx", "edit") == ["w1"]
    assert run.about("Write src/generated/a.py\nx", "edit") == []
    assert run.about("make gen > src/a.py") == []


def test_all_conditions_of_a_watch_must_hold() -> None:
    run = Run({"command": "rm *", "path": "migrations/*"})
    assert run.about("rm migrations/1.sql") == ["w1"]
    assert run.about("rm a.py") == run.about("cat migrations/1.sql") == []


# -- output -------------------------------------------------------------------------------------


def test_output_is_matched_after_the_step_as_a_whole_or_by_line() -> None:
    run = Run({"output": "*TIMED OUT*"}, {"output": "Error: no db*"})
    assert run.about("npm test") == []
    assert run.ran("npm test", "a\n  Error: no db found\nb", 1) == ["w2"]
    assert run.ran("npm test", "1 TIMED OUT", 1) == ["w1"]
    assert run.ran("npm test", "an Error: no db", 1) == []


def test_words_in_a_file_that_was_read_are_no_event() -> None:
    run = Run({"output": "*TIMED OUT*"})
    assert run.ran("Read a.log", "1 TIMED OUT", kind="read") == []
    assert run.ran("", "it TIMED OUT", kind="user") == []


def test_output_of_a_certain_command_and_not_another_text() -> None:
    run = Run({"output": "*error*", "command": "cargo *", "not": "*0 errors*"})
    assert run.ran("npm test", "error", 1) == []
    assert run.ran("cargo build", "0 errors", 0) == []
    assert run.ran("cargo build", "error[E01]", 1) == ["w1"]


# -- cwd ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cwd, line, where, fires",
    [
        ("web", "npm install", f"{PROJECT}/web", True),
        ("web", "npm install", f"{PROJECT}/web/app", True),
        ("web", "cd web && npm install", PROJECT, True),
        ("web", "npm install", PROJECT, False),
        (".", "npm install", f"{PROJECT}/web", True),
        (".", "npm install", "/tmp/scratch", False),
        (".", "cd /tmp/scratch && npm install", PROJECT, False),
        ("/tmp/*", "npm install", "/tmp/scratch/a", True),
        ("w*/", "npm install", f"{PROJECT}/web", True),
        (PROJECT, "npm install", f"{PROJECT}/api", True),
        (".", "npm install", None, True),
    ],
)
def test_a_directory_and_what_lies_below_it(
    cwd: str, line: str, where: str | None, fires: bool
) -> None:
    run = Run({"command": "npm install*", "cwd": cwd})
    assert run.about(line, cwd=where) == (["w1"] if fires else [])


def test_of_two_parts_only_the_one_that_runs_there_counts() -> None:
    run = Run({"command": "make", "cwd": "api"})
    assert run.about("(cd web && make); ls") == []
    assert run.about("(cd web && make); (cd api && make)") == ["w1"]


# -- unless_ran, since --------------------------------------------------------------------------

LINT = {"command": "git commit*", "unless_ran": "*lint*"}


def test_quiet_if_it_ran_since_the_last_edit() -> None:
    run = Run(LINT)
    assert run.about("git commit -m x") == ["w1"]
    run.ran("npm run lint", "ok")
    assert run.about("git commit -m x") == []
    run.edited("src/a.ts")
    assert run.about("git commit -m x") == ["w1"]
    run.ran("npm run lint", "ok")
    assert run.about("git commit -m x") == []


def test_a_failed_run_does_not_count_not_even_behind_a_pipe() -> None:
    run = Run(LINT)
    run.ran("npm run lint", "3 problems (3 errors)", 1)
    assert run.about("git commit -m x") == ["w1"]
    run.ran("npm run lint 2>&1 | tail -5", "npm ERR! code 1\nnpm ERR! lint script failed", 0)
    assert run.about("git commit -m x") == ["w1"]


@pytest.mark.parametrize(
    "edit",
    [
        "sed -i s/a/b/ src/a.ts",
        "mv src/a.ts src/b.ts",
        "cp x.ts src/a.ts",
        "echo 'x' >> src/a.ts",
        "cat > src/a.ts <<'EOF'\nx\nEOF",
        "rm src/a.ts",
        "perl -pi -e s/a/b/ src/a.ts",
        "tee src/a.ts",
        "patch -p1 < x.diff",
        "git apply x.diff",
        "git checkout main",
        "git stash pop",
        "git pull",
        "cd src && sed -i s/a/b/ a.ts && npm test",
        "python gen.py > src/table.py",
    ],
)
def test_an_edit_by_the_shell_is_an_edit(edit: str) -> None:
    run = Run(LINT)
    run.ran("npm run lint", "ok")
    run.ran(edit)
    assert run.about("git commit -m x") == ["w1"]


@pytest.mark.parametrize(
    "command",
    [
        "npm test > test.log 2>&1",
        "npm test > /tmp/out",
        "npm test > results.txt",
        "npm test | tee run.log",
        "npm run build > /dev/null",
        "rm -rf node_modules dist",
        "mkdir -p src/new",
        "cat src/a.ts",
        "git add -A && git status",
        "git checkout -b feature",
        "prettier --write src",
        "curl -o /tmp/x https://x",
        "cd src",
    ],
)
def test_keeping_an_output_or_making_room_is_none(command: str) -> None:
    run = Run(LINT)
    run.ran("npm run lint", "ok")
    run.ran(command)
    assert run.about("git commit -m x") == []


def test_an_edit_that_failed_or_was_refused_changed_nothing() -> None:
    run = Run(LINT)
    run.ran("npm run lint", "ok")
    run.ran("Edit src/a.ts\n--- old\na", "String not found", kind="edit", is_error=True)
    run.ran("Edit src/a.ts\n--- old\na", "refused", kind="edit", refused=True)
    run.ran("sed -i s/a/b/ src/none.ts", "sed: can't read src/none.ts: No such file", 2)
    assert run.about("git commit -m x") == []


def test_since_ever_outlives_edits() -> None:
    run = Run({"command": "npm test*", "unless_ran": "npm run db:up*", "since": "ever"})
    assert run.about("npm test") == ["w1"]
    run.ran("npm run db:up", "started")
    run.edited("src/a.ts")
    assert run.about("npm test") == []
    assert run.watches.state("w1", PROJECT) is State.STALE


def test_since_the_edit_of_one_path() -> None:
    run = Run({"command": "git commit*", "unless_ran": "*codegen*", "since": "edit:*.proto"})
    run.ran("make codegen", "ok")
    run.edited("src/a.ts")
    assert run.about("git commit") == []
    run.edited("api/user.proto")
    assert run.about("git commit") == ["w1"]
    run.ran("make codegen", "ok")
    assert run.about("git commit") == []


def test_the_line_itself_may_run_it_first() -> None:
    run = Run(LINT)
    assert run.about("npm run lint && git commit -m x") == []
    assert run.about("git commit -m x && npm run lint") == ["w1"]
    assert run.about("npm run lint && sed -i s/a/b/ src/a.ts && git commit") == ["w1"]


def test_within_a_line_the_order_counts() -> None:
    run = Run(LINT)
    run.ran("sed -i s/a/b/ src/a.ts && npm run lint", "ok")
    assert run.about("git commit") == []
    run.ran("npm run lint && sed -i s/a/b/ src/a.ts", "ok")
    assert run.about("git commit") == ["w1"]


@pytest.mark.parametrize(
    "talk",
    [
        "cat lint.sh",
        "grep -rn lint .",
        "git commit -m lint",
        "echo lint",
        "ls lint/",
        "npm run lint &",
    ],
)
def test_to_speak_of_it_is_not_to_run_it(talk: str) -> None:
    run = Run(LINT)
    run.ran(talk, "x")
    assert run.about("git commit") == ["w1"]


def test_a_program_that_the_glob_names_counts_though_it_only_reads() -> None:
    run = Run({"command": "rm *", "unless_ran": ["*git status*", "ls *"]})
    run.ran("git status", "clean")
    assert run.about("rm x") == []


def test_a_watch_that_comes_late_knows_what_ran_before_it() -> None:
    run = Run()
    run.ran("npm run lint", "ok")
    run.bank.put(Entry("knowledge", "late", "Lint first.", when=LINT))
    assert run.about("git commit -m x") == []
    run.edited("src/a.ts")
    assert run.about("git commit -m x") == ["late"]


# -- failed_before ------------------------------------------------------------------------------


def test_only_what_failed_before() -> None:
    run = Run({"command": "npm test*", "failed_before": True})
    assert run.about("npm test") == []
    run.ran("npm test", "1 failed", 1)
    assert run.about("npm  test 2>&1 | tail") == ["w1"]
    assert run.about("npm test -- one") == []
    run.ran("npm test", "all passed", 0)
    assert run.about("npm test") == []


def test_the_same_command_in_another_place_is_another_command() -> None:
    run = Run({"command": "make", "failed_before": True})
    run.ran("cd api && make", "Error 1", 2)
    assert run.about("make") == []
    assert run.about("make", cwd=f"{PROJECT}/api") == ["w1"]


def test_a_file_whose_edit_failed_before() -> None:
    run = Run({"writes": "src/*", "failed_before": True})
    run.ran("Edit src/a.ts\n--- old\na", "String not found", kind="edit", is_error=True)
    assert run.about("Edit src/b.ts\n--- old\na", "edit") == []
    assert run.about("Edit src/a.ts\n--- old\nb", "edit") == ["w1"]


def test_a_second_failure_with_the_same_words() -> None:
    run = Run({"output": "*ECONNREFUSED*", "failed_before": True})
    assert run.ran("npm test", "ECONNREFUSED", 1) == []
    assert run.ran("npm test", "ECONNREFUSED", 1) == ["w1"]


# -- finish -------------------------------------------------------------------------------------


def test_several_finish_watches_fire_as_one() -> None:
    run = Run({"finish": True}, {"finish": True, "unless_ran": "*test*"}, {"command": "ls"})
    [fired] = run.finished()
    assert fired.reminder.entries == ("w1", "w2")
    assert "About w1." in fired.reminder.text and "About w2." in fired.reminder.text
    run.told(fired)
    assert run.finished() == []


def test_a_finish_watch_whose_check_ran_is_quiet() -> None:
    run = Run({"finish": True, "unless_ran": "npm test*"})
    run.ran("npm test", "ok")
    assert run.finished() == []
    run.edited("a.ts")
    assert len(run.finished()) == 1


def test_many_finish_watches_share_the_room_and_name_how_many_more() -> None:
    run = Run(*({"finish": True} for _ in range(9)))
    [fired] = run.finished()
    assert len(fired.reminder.entries) == 9
    assert "(+5)" in fired.reminder.text


def test_an_action_never_meets_a_finish_watch() -> None:
    run = Run({"finish": True})
    assert run.about("git commit") == run.ran("git commit") == []


# -- how often, how long ------------------------------------------------------------------------


def test_a_watch_is_told_once_and_only_telling_counts() -> None:
    run = Run({"command": "git push*"})
    [fired] = run.fired("git push")
    [again] = run.fired("git push")
    assert fired == again
    run.told(fired)
    run.ran("git push")
    assert run.about("git push") == []
    assert run.watches.state("w1") is State.SPENT


def test_times_n_counts_and_each_time_is_a_cause_of_its_own() -> None:
    run = Run({"command": "git push*", "times": 3})
    causes = []
    for _ in range(5):
        for fired in run.fired("git push"):
            causes.append(fired.reminder.cause)
            run.told(fired)
        run.ran("git push")
    assert causes == ["watch:w1", "watch:w1#2", "watch:w1#3"]


def test_the_same_action_proposed_again_goes_through() -> None:
    run = Run({"command": "git push*", "times": 3})
    run.told(run.fired("git push")[0])
    assert run.about("git push") == []
    run.ran("git push")
    assert run.about("git push") == ["w1"]


def test_until_step_ends_it() -> None:
    run = Run(source="user", w1={"command": "ls*", "until_step": 2})
    run.ran("pwd")
    assert run.about("ls") == ["w1"]
    run.ran("pwd")
    assert run.about("ls") == []
    assert run.watches.state("w1") is State.STALE


def test_until_step_of_an_earlier_session_is_past() -> None:
    run = Run({"command": "ls*", "until_step": 20})
    assert run.about("ls") == []
    run.bank.put(Entry("knowledge", "new", "x", when={"command": "ls*", "until_step": 20}))
    assert run.about("ls") == ["new"]


def test_a_changed_condition_is_armed_anew_and_a_changed_text_is_not() -> None:
    run = Run({"command": "git push*"})
    run.told(run.fired("git push")[0])
    run.ran("git push")
    run.bank.put(Entry("knowledge", "w1", "Another text.", when={"command": "git push*"}))
    assert run.about("git push") == []
    run.bank.put(Entry("knowledge", "w1", "Another text.", when={"command": ["git push*"]}))
    [fired] = run.fired("git push")
    assert fired.reminder.text == "Another text."


def test_a_deleted_entry_and_a_deleted_watch_are_gone() -> None:
    run = Run({"command": "ls*"}, {"command": "ls*"})
    run.bank.remove("w1")
    run.bank.put(Entry("knowledge", "w2", "x"))
    assert run.about("ls") == []
    assert run.watches.states() == {}


def test_a_broken_watch_is_told_and_harms_no_other() -> None:
    run = Run({"comand": "ls*"}, {"command": "ls*"})
    assert run.about("ls") == ["w2"]
    assert run.watches.states() == {"w1": State.BROKEN, "w2": State.ARMED}
    assert "did you mean command" in run.watches.problem("w1")
    assert run.watches.problem("w2") == run.watches.problem("none") == ""
    assert run.watches.state("none") is None


def test_what_a_person_wrote_comes_first_then_what_asks_for_more() -> None:
    run = Run({"command": "git*"}, {"command": "git push*--force*"})
    run.bank.put(Entry("knowledge", "mine", "x", source="user", when={"command": "git*"}))
    assert run.about("git push --force") == ["mine", "w2", "w1"]


# -- with the result ----------------------------------------------------------------------------


def test_where_nothing_is_proposed_the_step_itself_is_looked_at() -> None:
    run = Run({"command": "git push*"})
    assert run.ran("git push") == ["w1"]


def test_a_step_that_was_proposed_is_not_looked_at_twice() -> None:
    run = Run({"command": "git push*"}, {"output": "*rejected*"})
    assert run.about("git push") == ["w1"]
    assert run.ran("git push", "! [rejected]", 1) == ["w2"]


def test_a_step_knows_its_proposal_by_its_call() -> None:
    run = Run({"command": "git push*"})
    run.watches.proposed(Action("command", "git push", PROJECT, call_id="c1"), run.moment())
    assert run.ran("git push", call_id="c1") == []
    assert run.ran("git push", call_id="c2") == ["w1"]


def test_a_refused_call_did_nothing() -> None:
    run = Run({"command": "git push*"})
    assert run.ran("git push", refused=True) == []


# -- reminders, holds ---------------------------------------------------------------------------


def test_the_reminder_is_the_entry_and_cites_it() -> None:
    run = Run(source="user", w1={"command": "git push*"})
    [fired] = run.fired("npm test && git push origin")
    assert fired.reminder == Reminder(
        "About w1.", ("w1",), reason="watch:w1", cause="watch:w1", sure=True
    )
    assert fired.matched == "git push origin"


def test_only_what_a_person_wrote_is_sure_and_never_for_a_look() -> None:
    assert not Run({"command": "git push*"}).fired("git push")[0].reminder.sure
    assert Run(source="user", w1={"command": "npm *"}).fired("npm test")[0].reminder.sure
    assert not Run(source="user", w1={"path": "*.env"}).fired("cat a.env")[0].reminder.sure


def test_a_watch_may_hold_what_is_costly() -> None:
    run = Run({"command": ["git push*", "npm test*"]})
    [fired] = run.fired("git push")
    assert run.watches.may_hold(fired.reminder, Action("command", "git push"))
    assert not run.watches.may_hold(fired.reminder, Action("command", "npm test"))
    rule = Reminder("x", ("w1",), reason="repeated_failure", cause="x")
    assert not run.watches.may_hold(rule, Action("command", "git push"))


def test_other_reminders_do_not_spend_a_watch() -> None:
    run = Run({"command": "git push*"})
    run.watches.spoke(Reminder("x", ("w1",), reason="repeated_failure", cause="x"))
    assert run.about("git push") == ["w1"]


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf build",
        "git commit -m x",
        "npm test && git push",
        "npm publish",
        "sudo apt install x",
        "terraform apply",
        "kubectl delete pod x",
        "psql -c 'DROP TABLE a'",
        "sed -i s/a/b/ a.py",
        "echo x > a.py",
        "git stash",
        "git reset --hard",
        "curl -X POST https://x",
        "make deploy",
        "npm run deploy",
        "bash -c 'rm x'",
    ],
)
def test_costly_commands(text: str) -> None:
    assert costly(Action("command", text))


@pytest.mark.parametrize(
    "text",
    [
        "npm test",
        "ls -la",
        "git status",
        "git log",
        "git stash list",
        "git branch -a",
        "cat a.py",
        "grep -rn 'rm x' .",
        "echo rm x",
        "pytest > /tmp/out",
        "make",
        "python a.py",
        "curl https://x",
        "kubectl get pods",
        "git -C x status",
    ],
)
def test_cheap_commands(text: str) -> None:
    assert not costly(Action("command", text))


def test_edits_and_acting_tools_are_costly_looks_are_not() -> None:
    assert costly(Action("edit", "Edit a.py"))
    assert costly(Action("tool", "x", tool="mcp__linear-server__create_issue"))
    assert not costly(Action("tool", "x", tool="mcp__linear-server__list_issues"))
    assert not costly(Action("read", "Read a.py"))


# -- what a watch may not be --------------------------------------------------------------------


@pytest.mark.parametrize(
    "table, words",
    [
        ({}, ["moment", 'command = "git push*--force*"']),
        ({"not": "x"}, ["moment"]),
        ({"comand": "x"}, ["'comand'", "did you mean command", "unless_ran"]),
        ({"zzz": 1}, ["'zzz'", "its keys are command"]),
        ({"command": ""}, ["command", "is empty", "git push"]),
        ({"command": "   "}, ["command", "is empty"]),
        ({"command": []}, ["command", "empty list"]),
        ({"command": ["ls", ""]}, ["command", "is empty"]),
        ({"command": 3}, ["command must be a glob or a list of globs"]),
        ({"command": ["ls", 3]}, ["command must be a glob or a list of globs"]),
        ({"command": {"a": 1}}, ["command must be a glob"]),
        ({"command": "*"}, ["command", "matches everything"]),
        ({"command": "?*"}, ["matches everything"]),
        ({"command": "cargo [bct"}, ["command", "[ that is never closed", "[[]"]),
        ({"command": "a[z-a]"}, ["range from 'z' down to 'a'"]),
        ({"command": "x" * 1000}, ["command", "longer than 400"]),
        ({"command": ["x"] * 99}, ["command has 99 globs"]),
        ({"writes": "*"}, ["writes", "matches everything", "src/generated"]),
        ({"output": "[", "command": "x"}, ["output", "never closed"]),
        ({"command": "x", "unless_ran": "*"}, ["unless_ran", "matches everything"]),
        ({"command": "x", "cwd": 7}, ["cwd must be a glob"]),
        ({"command": "x", "since": "edit"}, ["since needs unless_ran"]),
        (
            {"command": "x", "unless_ran": "y", "since": "now"},
            ["since can only be", '"ever"', "'now'"],
        ),
        ({"command": "x", "unless_ran": "y", "since": "edit:"}, ["since", "is empty"]),
        ({"command": "x", "unless_ran": "y", "since": 3}, ["since can only be"]),
        ({"command": "x", "failed_before": "yes"}, ["failed_before can only be true"]),
        ({"finish": 1}, ["finish can only be true"]),
        ({"finish": False}, ["moment"]),
        ({"finish": True, "command": "x"}, ["finish = true", "command", "two entries"]),
        ({"finish": True, "failed_before": True}, ["finish = true", "failed_before"]),
        ({"command": "x", "times": 0}, ["times must be a whole number of at least 1"]),
        ({"command": "x", "times": True}, ["times must be a whole number"]),
        ({"command": "x", "times": "2"}, ["times must be a whole number", "times = 2"]),
        ({"command": "x", "until_step": -1}, ["until_step must be a whole number"]),
        ("git push", ["a watch is a table"]),
    ],
)
def test_a_wrong_watch_is_told_in_a_sentence(table: Any, words: list[str]) -> None:
    with pytest.raises(ValueError) as told:
        parse_watch(table)
    for word in words:
        assert word in str(told.value)


def test_the_whole_language_in_one_watch() -> None:
    watch = parse_watch(
        {
            "command": ["npm test*", "yarn test*"],
            "writes": "a*",
            "path": ["b*"],
            "output": "c*",
            "not": ["d*"],
            "cwd": "web",
            "unless_ran": ["e*"],
            "since": "edit:src/*.py",
            "failed_before": True,
            "times": 2,
            "until_step": 9,
        }
    )
    assert (watch.times, watch.until_step, watch.failed_before) == (2, 9, True)
    assert watch.since_path is not None and watch.since_path.text == "src/*.py"


keys = st.sampled_from([*KEYS, "x"])
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.text("ab*?[]!- ", max_size=6),
    st.lists(st.text(max_size=3), max_size=3),
)


@given(st.dictionaries(keys, values, max_size=4))
def test_any_table_is_a_watch_or_a_sentence(table: dict[str, Any]) -> None:
    try:
        parse_watch(table)
    except ValueError as error:
        assert len(str(error)) > 20


@given(
    st.text(st.characters(), max_size=60),
    st.sampled_from(["command", "edit", "read", "tool", "user"]),
)
def test_any_action_can_be_looked_at(text: str, kind: str) -> None:
    run = Run(
        {"command": "git*", "not": "*x*"},
        {"writes": "src/"},
        {"path": "*.py"},
        {"output": "*a*"},
        LINT,
    )
    run.about(text, kind)
    run.ran(text, text, kind=kind)
    run.finished()


@given(st.text("abc*?[!]-x /", max_size=8), st.text("abcx /-]", max_size=8))
def test_a_glob_without_wildcards_is_its_own_only_match(glob: str, text: str) -> None:
    from pmem.core.glob import compile_glob

    try:
        compiled = compile_glob(glob)
    except ValueError:
        return
    if not set(glob) & set("*?["):
        assert compiled.matches(text) == (glob == text)
    assert compiled.literal and (compiled.literal in text or not compiled.matches(text))


def test_five_hundred_watches_and_a_long_session_change_nothing() -> None:
    def armed() -> Run:
        return Run(*({"command": f"tool{n} *", "unless_ran": f"*check{n}*"} for n in range(500)))

    fresh, old = armed(), armed()
    for n in range(3000):
        old.ran(f"echo {n}", str(n))
    assert fresh.about("npm test && git commit -m x") == []
    assert old.about("npm test && git commit -m x") == []
    assert old.about("tool7 x") == ["w8"]
