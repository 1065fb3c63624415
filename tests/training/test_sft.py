"""`pmem train sft` with the real libraries: a random model learns what was recorded, is stopped and
goes on, is served and plays."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
import trl_venv
from trained import SHARED, STEPS, Place
from worked import FACT, TOLD

pytestmark = pytest.mark.slow


# --- what is learned -----------------------------------------------------------------------------


def test_a_random_model_learns_the_calls_and_both_forms_of_a_decision(tuned: Place) -> None:
    told = json.loads((tuned / "tuned/sft.json").read_text())
    learned = told["training"]
    assert learned["rows"] == told["rows"]["train"] == (9 if SHARED.is_dir() else 4)
    assert learned["valid"] > 0.9 and learned["calls"] >= 1
    # It decides better than silence does. Of the two reminders the longer one is learned last, and
    # whether in time depends on the last bit of a sum: not the same on every processor.
    assert learned["agreement"] > learned["silent_agreement"] > 0.7
    assert learned["precision"] > 0.6 and learned["recall"] >= 0.5
    assert told["held_out"]["rows"] == told["rows"]["validation"] == 3
    printed = (tuned / "tuned.txt").read_text()
    assert "decided as recorded" in printed and f"{STEPS} updates" in printed


def test_the_loss_is_kept_as_figures_and_as_a_picture(tuned: Place) -> None:
    told = json.loads((tuned / "tuned/sft.json").read_text())
    training = told["loss"]["training"]
    assert [step for step, _ in training] == list(range(1, STEPS + 1))
    assert training[-1][1] < training[0][1] / 50
    assert len(told["loss"]["validation"]) == 10
    picture = ElementTree.parse(tuned / "tuned/loss.svg").getroot()
    lines = [one for one in picture.iter() if one.tag.endswith("polyline")]
    assert [len(one.get("points", "").split()) for one in lines] == [STEPS, 10]


def test_rows_are_counted_in_tokens_of_the_model(tuned: Place) -> None:
    told = json.loads((tuned / "tuned/sft.json").read_text())
    assert sum(told["tokens"].values()) == sum(told["rows"].values())
    assert all(size.startswith("<") for size in told["tokens"]) and not told["left_out_too_long"]


def test_the_template_is_checked_and_the_loss_is_on_the_models_own_words(tuned: Place) -> None:
    done = subprocess.run(
        [trl_venv.python(), "-c", TEMPLATES], cwd=tuned.home, env=tuned.environment(),
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    own, everything = told["own"], told["everything"]
    assert "<tool_call>" in own and "<no_intervention/>" in own and FACT in own and TOLD in own
    for foreign in ("# Task", "# Bank", "saved db", "Now decide", "# Tools"):
        assert foreign in everything and foreign not in own
    # As the model was trained, so its server writes conversations, and finds its calls.
    assert told["same"] and told["response_template"]
    assert "mark what the assistant says" in told["unmarked"]
    assert "has no chat template" in told["none"]
    assert "writes calls as pmem does not read them" in told["other calls"]
    assert "takes no conversation with tools" in told["gemma"]
    # Qwen 3.5 begins its thoughts in the prompt: what it learns goes on after those tokens.
    assert told["thinking"].startswith("\n</think>\n\n<no_intervention/>")


#: What only runs where TRL is: templates that will do, and those that will not.
TEMPLATES = r"""
import json
from pathlib import Path
import trl
from transformers import AutoTokenizer
from pmem.training.open_model import asked, encoded, libraries, prepare

libraries()
rows = [json.loads(line) for line in open("data/train.jsonl")]
tokenizer = AutoTokenizer.from_pretrained("tiny")
original = tokenizer.chat_template
prepare(tokenizer)
trained = AutoTokenizer.from_pretrained("tuned")
told = {"same": trained.chat_template == tokenizer.chat_template != original,
        "response_template": bool(trained.response_template), "own": "", "everything": ""}
for row in rows:
    ids, said = encoded(tokenizer, row["messages"])
    told["own"] += tokenizer.decode([id for id, mine in zip(ids, said) if mine])
    told["everything"] += tokenizer.decode(ids)
Path("unmarked.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
Path("other calls.jinja").write_text(tokenizer.chat_template.replace("<tool_call>", "<call>"))
Path("none.jinja").write_text("")
shipped = Path(trl.__file__).parent / "chat_templates"
Path("gemma.jinja").write_text((shipped / "gemma.jinja").read_text())
for name in ("unmarked", "none", "other calls", "gemma"):
    try:
        prepare(AutoTokenizer.from_pretrained("tiny"), Path(f"{name}.jinja"))
    except ValueError as error:
        told[name] = str(error)
for name in ("qwen2_5", "qwen3_instruct_2507", "qwen3_5_nothink", "qwen3_6", "qwen3_5_think"):
    tokenizer = AutoTokenizer.from_pretrained("tiny")
    prepare(tokenizer, shipped / f"{name}.jinja")
quiet = next(row["messages"] for row in rows if len(row["messages"]) == 3)
ids, said = encoded(tokenizer, quiet)
assert ids[: len(asked(tokenizer, quiet[:2]))] == asked(tokenizer, quiet[:2])
told["thinking"] = tokenizer.decode([id for id, mine in zip(ids, said) if mine])
print(json.dumps(told))
"""


def test_adapters_are_trained_and_merged(untrained: Place) -> None:
    args = ("--model", "tiny", "--data", "data", "--steps", "2", "--rank", "4", "--evaluate", "0")
    done = untrained.pmem("train", "sft", *args, "-o", "adapted", "--json", training=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["updates"] == 2
    assert (untrained / "adapted/adapter/adapter_model.safetensors").is_file()
    whole = (untrained / "adapted/model.safetensors").read_bytes()
    assert b"lora" not in whole and whole != (untrained / "tiny/model.safetensors").read_bytes()
    assert not (untrained / "adapted/states").exists()


# --- stopped -------------------------------------------------------------------------------------


def test_a_training_that_is_stopped_goes_on_as_if_it_had_not_been(tuned: Place) -> None:
    args = tuned.sft("stopped", "--steps", str(STEPS), "--evaluate", "0")
    every = STEPS // 10
    assert "--resume goes on" in stopped(tuned, args, f"checkpoint-{every}")
    refused = tuned.pmem(*args, training=True)
    assert refused.returncode == 2 and "go on with --resume" in refused.stderr
    other = tuned.pmem(*args, "--resume", "--seed", "1", training=True)
    assert other.returncode == 2 and "begun with another seed" in other.stderr
    stopped(tuned, (*args, "--resume"), f"checkpoint-{2 * every}")
    newest = max(
        (tuned / "stopped/states").glob("checkpoint-*"), key=lambda p: int(p.name.split("-")[1])
    )
    history = json.loads((newest / "trainer_state.json").read_text())["log_history"]
    losses = [[log["step"], round(log["loss"], 5)] for log in history if "loss" in log]
    through = json.loads((tuned / "tuned/sft.json").read_text())["loss"]["training"]
    assert len(losses) >= 2 * every
    for (step, loss), (same, wanted) in zip(losses, through, strict=False):
        assert step == same and loss == pytest.approx(wanted, rel=0.01)


def stopped(place: Place, args: tuple[str, ...], state: str) -> str:
    """Ctrl-C once a state is kept; what was said then."""
    child = subprocess.Popen(
        place.command(*args, training=True), env=place.environment(), cwd=place.home,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wanted = place / "stopped/states" / state / "trainer_state.json"
        until(lambda: wanted.exists() or child.poll() is not None, 200)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=200)[1]
    finally:
        child.kill()
    assert child.returncode == 130, said[-2000:]
    assert "Traceback" not in said
    return said


def until(true: object, seconds: float) -> None:
    assert callable(true)
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.05)


# --- served --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url(tuned: Place) -> Iterator[str]:
    """The trained model behind the server of transformers, on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (tuned / "serve.log").open("w") as log:
        server = subprocess.Popen(
            [trl_venv.python().with_name("transformers"), "serve", tuned / "tuned",
             "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            env=tuned.environment(), stdout=log, stderr=log,
        )  # fmt: skip
        try:
            until(lambda: answers(port) or server.poll() is not None, 200)
            assert server.poll() is None, (tuned / "serve.log").read_text()[-2000:]
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            server.wait(20)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as got:
            return bool(got.status == 200)
    except OSError:
        return False


def test_the_trained_model_plays_over_a_run_by_the_ordinary_settings(
    tuned: Place, url: str
) -> None:
    settings = {"base_url": url, "model": f"openai:{tuned / 'tuned'}"}
    (tuned / ".config/pmem/config.toml").write_text(
        "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    )
    model = ("--arm", "selective", "--yes", "--prompts-to", "served", "--json")
    done = tuned.pmem("replay", "build.jsonl", *model)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert [one["text"] for one in told["decisions"] if one["decision"] == "remind"] == [TOLD]
    assert [entry["content"] for entry in told["bank"]["knowledge"]] == [FACT]
    calls = list(map(json.loads, (tuned / "served/calls.jsonl").read_text().splitlines()))
    # The tools were called as such, no text of the model's had to be looked through.
    assert [call["name"] for one in calls for call in one["calls"]] == ["memory_save_knowledge"]
    assert not any("<tool_call>" in one["answer"] for one in calls)
