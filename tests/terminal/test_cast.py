"""A recording has what was shown, when it was shown, at which size, and no secret."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rig import Rig, host_env

from pmem.terminal.cast import CastRecorder
from pmem.terminal.tty import Size

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def events(path: Path) -> tuple[dict[str, Any], list[list[Any]]]:
    header, *rest = path.read_text(encoding="utf-8").splitlines()
    return json.loads(header), [json.loads(line) for line in rest]


def shown(path: Path) -> str:
    return "".join(text for _, kind, text in events(path)[1] if kind == "o")


def test_the_header_and_the_events_are_asciicast_v2(tmp_path: Path) -> None:
    path = tmp_path / "a.cast"
    recorder = CastRecorder(path, {"TERM": "xterm", "SHELL": "/bin/zsh", "X": "y"}, ["ls", "-l"])
    recorder.resize(Size(24, 80))
    recorder.output(b"one\r\n")
    recorder.resize(Size(24, 80))
    recorder.resize(Size(30, 100))
    recorder.output("한글".encode())
    recorder.close()
    header, rest = events(path)
    assert header["version"] == 2
    assert (header["width"], header["height"]) == (80, 24)
    assert header["command"] == "ls -l"
    assert header["env"] == {"TERM": "xterm", "SHELL": "/bin/zsh"}
    assert [(kind, text) for _, kind, text in rest] == [
        ("o", "one\r\n"),
        ("r", "100x30"),
        ("o", "한글"),
    ]
    times = [t for t, _, _ in rest]
    assert times == sorted(times)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), st.data())
def test_characters_cut_by_chunks_are_put_together(text: str, data: st.DataObject) -> None:
    import tempfile

    raw = text.encode()
    cut = data.draw(st.integers(0, len(raw)))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.cast"
        recorder = CastRecorder(path, {})
        recorder.resize(Size())
        recorder.output(raw[:cut])
        recorder.output(raw[cut:])
        recorder.close()
        assert "�" in text or "�" not in shown(path)


def test_a_secret_is_taken_out_also_where_a_burst_cuts_it(tmp_path: Path) -> None:
    text = ("x" * 99 + "\r\n") * 3 + f"token: {TOKEN}\r\n"
    for cut in range(len(text) - 60, len(text)):
        path = tmp_path / "a.cast"
        recorder = CastRecorder(path, {})
        recorder.resize(Size())
        recorder.output(text[:cut].encode())
        recorder.output(text[cut:].encode() + b"after")
        recorder.close()
        assert TOKEN[8:] not in path.read_text()
        assert "token: ghp_" in shown(path) and shown(path).endswith("after")


def test_a_secret_echoed_key_by_key_is_taken_out_and_every_key_has_its_time(
    tmp_path: Path,
) -> None:
    recorder = CastRecorder(tmp_path / "a.cast", {})
    recorder.resize(Size())
    typed = f"export T={TOKEN}"
    for key in typed:
        recorder.output(key.encode())
    recorder.output(b"\r\necho on")
    recorder.resize(Size(30, 90))
    recorder.close()
    _, rest = events(tmp_path / "a.cast")
    assert TOKEN[8:] not in shown(tmp_path / "a.cast")
    assert [text for _, _, text in rest[:9]] == list(typed[:9])
    assert [(kind, text) for _, kind, text in rest[-2:]] == [("o", "echo on"), ("r", "90x30")]
    times = [t for t, _, _ in rest]
    assert times == sorted(times)


def test_what_comes_piece_by_piece_keeps_its_times(tmp_path: Path) -> None:
    recorder = CastRecorder(tmp_path / "a.cast", {})
    recorder.resize(Size())
    recorder.output(b"x" * 300 + b" working")
    time.sleep(0.05)
    recorder.output(b" done\r\n")
    recorder.close()
    (first, _, one), (second, _, other) = events(tmp_path / "a.cast")[1]
    assert (one[-8:], other) == (" working", " done\r\n")
    assert second - first >= 0.05


@given(st.lists(st.text(st.sampled_from("ab \x1b\n"), max_size=900), max_size=12))
def test_whatever_the_chunks_all_of_it_is_recorded_in_order(chunks: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.cast"
        recorder = CastRecorder(path, {})
        recorder.resize(Size())
        for chunk in chunks:
            recorder.output(chunk.encode())
        recorder.close()
        assert shown(path) == "".join(chunks)


def test_a_full_disk_ends_the_recording_and_nothing_else() -> None:
    recorder = CastRecorder(Path("/dev/full"), {})
    recorder.resize(Size())
    for _ in range(200):
        recorder.output(b"x" * 4000)
    recorder.close()
    assert "ended early" in recorder.trouble


def test_a_run_can_be_recorded(rigs: list[Rig], tmp_path: Path) -> None:
    import sys

    path = tmp_path / "run.cast"
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from pmem.terminal.cast import CastRecorder\nfrom pmem.terminal.relay import run_in_pty\n"
        "recorder = CastRecorder(Path(sys.argv[1]), os.environ)\n"
        "code = run_in_pty(['sh', '-c', 'echo hi; read x; stty size'], os.environ,\n"
        "    recorder=recorder)\n"
        "recorder.close()\nsys.exit(code)\n"
    )
    rig = Rig([sys.executable, "-c", script, str(path)], env=host_env())
    rigs.append(rig)
    rig.expect("hi\r\n")
    rig.resize(31, 90)
    rig.for_a_while(0.3)
    rig.line("go")
    assert rig.wait() == 0
    header, rest = events(path)
    assert (header["width"], header["height"]) == (80, 24)
    assert [text for _, kind, text in rest if kind == "r"] == ["90x31"]
    assert shown(path).encode() == bytes(rig.output)
