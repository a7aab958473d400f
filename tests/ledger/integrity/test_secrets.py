from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ledger import redaction
from ledger.redaction import Hit, Rule, pump
from ledger.secrets import Redactor, looks_secret, scan

HUGGINGFACE = "hf_" + "aB3d" * 8
TOKENS = {
    "huggingface_token": HUGGINGFACE,
    "api_key": "sk-proj-" + "a1" * 20,
    "github_token": "ghp_" + "Zz9" * 12,
    "gitlab_token": "glpat-" + "x1Y" * 7,
    "slack_token": "xoxb-1234567890-abcdef",
    "aws_access_key": "AKIA" + "ABCD1234" * 2,
    "google_key": "AIza" + "Sy_-0aB" * 5,
    "web_token": "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4",
    "nvidia_key": "nvapi-" + "q1_-" * 8,
}
ENVIRONMENT = {"HF_TOKEN": "correct horse battery", "DB_PASSWORD": "hunter2!", "HOME": "/home/someone"}

text_around = st.text(alphabet=st.sampled_from("abcXYZ019 _-./:=@\n\"'[]é\u202e"), max_size=40)
pieces = st.lists(
    st.one_of(text_around, st.sampled_from([*TOKENS.values(), *ENVIRONMENT.values(), "[redacted:HF_TOKEN]"])),
    max_size=8,
)


@pytest.mark.parametrize("name", TOKENS)
def test_a_known_shape_is_taken_out_and_named(name: str) -> None:
    text, hits = Redactor({}).text(f"before {TOKENS[name]}, after")
    assert text == f"before [redacted:{name}], after"
    assert hits == (name,)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdefghijkl0123", "abcdefghijkl0123"),
        ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("curl https://me:s3cr3t@host/x", "s3cr3t"),
        ("postgres://u:p%40ss@db:5432/x", "p%40ss"),
        ("vllm serve --api-key abc123def --port 1", "abc123def"),
        ('{"x-api-key": "abcd1234efgh"}', "abcd1234efgh"),
        ("aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG" * 2, "wJalrXUtnFEMI"),
    ],
)
def test_a_secret_in_its_surroundings_goes_and_they_stay(text: str, secret: str) -> None:
    found, hits = Redactor({}).text(text)
    assert secret not in found
    assert len(hits) == 1
    assert re.sub(r"\[redacted:\w+\]", "", found).strip() != ""


@pytest.mark.parametrize(
    "text",
    [
        "aten::task-parallel risk-averse disk-0123456789012345 mask-attention",
        "hf_transformers_attention_forward_for_causal_lm",
        "see https://example.org:8080/a@b and ssh://git@host/x",
        "the bearer of this", "high throughput, weight_ghost, basic functionality-of-things",
        "--tokenizer meta-llama/Llama --max-tokens 128 --token",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
)  # fmt: skip
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor({}).text(text) == (text, ())


def test_private_keys_go_whole_even_cut_off_or_in_json() -> None:
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"] * 3)
    whole = f"a\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nb"
    assert Redactor({}).text(whole)[0] == "a\n[redacted:private_key]\nb"
    assert Redactor({}).text(whole[: whole.index("\n-----END")] + "\nnext line")[0].endswith("y]\nnext line")
    inside, _ = Redactor({}).text(json.dumps({"key": whole}))
    assert json.loads(inside) == {"key": "a\n[redacted:private_key]\nb"}


def test_exact_values_of_secret_variables_go_first() -> None:
    redactor = Redactor({**ENVIRONMENT, "API_KEY": "ghp_" + "1aB" * 10})
    text, hits = redactor.text(f"x correct horse battery y hunter2! /home/someone Bearer ghp_{'1aB' * 10}")
    assert text == "x [redacted:HF_TOKEN] y [redacted:DB_PASSWORD] /home/someone Bearer [redacted:API_KEY]"
    assert set(hits) == {"HF_TOKEN", "DB_PASSWORD", "API_KEY"}


def test_values_are_found_as_files_spell_them() -> None:
    value = 'pa"ss\\wo/rd\nsecond line of it'
    redactor = Redactor({"MY_SECRET": value})
    for spelled in (value, json.dumps({"x": value}), "https://h/?q=pa%22ss%5Cwo%2Frd%0Asecond%20line%20of%20it"):
        assert "second" not in redactor.text(spelled)[0]
    assert "only the second line of it" not in redactor.text("only the second line of it")[0]


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"MAX_TOKENS": "100000"}, "steps 100000"),
        ({"TOKENIZERS_PARALLELISM": "false!"}, "false!"),
        ({"X_TOKEN": "default"}, "default"),
        ({"X_TOKEN": "short"}, "short"),
        ({"DB_PASSWORD": "12345678"}, "0.12345678 123456789"),
        ({"GIT_CONFIG_KEY_0": "safe.directory"}, "safe.directory"),
    ],
)
def test_settings_with_a_secret_sounding_name_are_no_secrets(environ: dict[str, str], text: str) -> None:
    assert Redactor(environ).text(text) == (text, ())


def test_a_secret_number_goes_from_text_and_never_breaks_json(tmp_path: Path) -> None:
    redactor = Redactor({"DB_PASSWORD": "12345678"})
    assert redactor.text("password 12345678.")[0] == "password [redacted:DB_PASSWORD]."
    path = tmp_path / "data.json"
    path.write_text('{"tokens": 12345678, "word": "12345678"}')
    assert redactor.file(path)
    assert json.loads(path.read_text()) == {"tokens": 12345678, "word": "[redacted:DB_PASSWORD]"}


@pytest.mark.parametrize(
    ("name", "secret"),
    [("HF_TOKEN", True), ("AWS_SECRET_ACCESS_KEY", True), ("githubToken", True), ("APIKEY", True),
     ("CREDENTIALS_JSON", True), ("TOKENIZERS_PARALLELISM", False), ("KEYBOARD", False), ("PATH", False),
     ("SSH_AUTH_SOCK", False), ("NPM_AUTH", True), ("OMP_NUM_THREADS", False)],
)  # fmt: skip
def test_names_that_look_secret(name: str, secret: bool) -> None:
    assert looks_secret(name) is secret


@given(pieces)
@example(["ab", TOKENS["aws_access_key"], HUGGINGFACE])
@example(["12345678", HUGGINGFACE])
def test_redaction_is_idempotent(parts: list[str]) -> None:
    redactor = Redactor({**ENVIRONMENT, "PIN_SECRET": "12345678"})
    once, _ = redactor.text("".join(parts))
    assert redactor.text(once) == (once, ())
    assert not any(value in once for value in ("correct horse battery", "hunter2!"))


@settings(deadline=None)
@given(pieces, st.integers(1, 60), st.integers(1, 30))
def test_pieces_give_what_the_whole_gives(parts: list[str], size: int, padding: int) -> None:
    """The reach is made small, so that short texts have borders inside of every token."""
    data = (" ." * padding).join(parts).encode()
    rules = [
        Rule("token", (b"hf_",), re.compile(rb"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{20,}")),
        Rule("value", (b"hunter2!",), re.compile(rb"hunter2!")),
        Rule("header", (b"bearer",), re.compile(rb"(?i:bearer) (?P<secret>[a-z0-9]{4,})")),
    ]
    old = redaction.REACH, redaction.SLACK, redaction.PIECE
    redaction.REACH, redaction.SLACK, redaction.PIECE = 40, 8, size
    try:
        cut = io.BytesIO()
        cut_hits = list(pump(io.BytesIO(data).read, [rules], cut.write))
        redaction.PIECE = 1 << 20
        whole = io.BytesIO()
        whole_hits = list(pump(io.BytesIO(data).read, [rules], whole.write))
    finally:
        redaction.REACH, redaction.SLACK, redaction.PIECE = old
    assert cut.getvalue() == whole.getvalue()
    assert cut_hits == whole_hits


@pytest.mark.parametrize("shift", range(-40, 41, 5))
def test_a_token_across_the_border_of_two_pieces_is_found(tmp_path: Path, shift: int) -> None:
    path = tmp_path / "big.log"
    before = b"x" * (redaction.PIECE + shift - 20) + b"\n"
    path.write_bytes(before + HUGGINGFACE.encode() + b" Bearer abcdefghijkl0123\n" + b"y" * 100)
    assert [hit.name for hit in scan(path)] == ["huggingface_token", "bearer_token"]
    assert Redactor({}).file(path)
    after = b"[redacted:huggingface_token] Bearer [redacted:bearer_token]\n"
    assert path.read_bytes() == before + after + b"y" * 100


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
def test_files_are_rewritten_as_they_were_packed_and_only_when_needed(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "rank-0.json.gz"
    clean, dirty = b'{"name": "aten::mm"}' * 100, f'{{"env": "{HUGGINGFACE}"}}'.encode()
    for data, changed in ((clean, False), (clean + dirty, True)):
        path.write_bytes(_pack(data, packing))
        path.chmod(0o640)
        before = path.read_bytes()
        assert Redactor({}).file(path) is changed
        assert (path.read_bytes() == before) is not changed
        assert path.stat().st_mode & 0o777 == 0o640
    assert _unpack(path.read_bytes(), packing) == clean + b'{"env": "[redacted:huggingface_token]"}'
    assert list(tmp_path.iterdir()) == [path]


def test_a_trace_that_ends_early_is_still_searched(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.json.gz"
    noise = "".join(f'{{"ts": {number * 7919 % 10007}}},' for number in range(20_000))
    path.write_bytes(gzip.compress(f"{HUGGINGFACE}{noise}".encode())[:-5000])
    assert [hit.name for hit in scan(path)] == ["huggingface_token"]
    assert Redactor({}).file(path)
    assert list(scan(path)) == []


def test_hits_name_the_line_and_never_the_secret(tmp_path: Path) -> None:
    path = tmp_path / "stdout.log"
    path.write_text(f"one\ntwo\n{HUGGINGFACE}\nfour hunter2!\n")
    assert list(scan(path, ENVIRONMENT)) == [Hit("DB_PASSWORD", 4), Hit("huggingface_token", 3)]


def test_bytes_that_are_no_text_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "stderr.log"
    path.write_bytes(b"\xff\xfe\x00" + HUGGINGFACE.encode() + b"\r\n\x80")
    assert Redactor({}).file(path)
    assert path.read_bytes() == b"\xff\xfe\x00[redacted:huggingface_token]\r\n\x80"


def _pack(data: bytes, packing: str) -> bytes:
    if packing == "gzip":
        return gzip.compress(data, mtime=0)
    return pa.compress(data, codec="zstd", asbytes=True) if packing == "zstd" else data


def _unpack(data: bytes, packing: str) -> bytes:
    if packing == "gzip":
        return gzip.decompress(data)
    return bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()) if packing == "zstd" else data
