"""No secret passes, and nothing else is touched. Every token here is made up on the spot."""

from __future__ import annotations

import random
import re
import string

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.redact import PRIVATE, findings, redact, redactor

LETTERS = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"


def made(alphabet: str, length: int, seed: int = 7) -> str:
    """A made-up value with at least one letter and one digit, the same in every run."""
    dice = random.Random(f"{alphabet}{length}{seed}")
    text = "".join(dice.choice(alphabet) for _ in range(length - 2))
    letters = [c for c in alphabet if c.isalpha()]
    digits = [c for c in alphabet if c.isdigit()]
    return letters[seed % len(letters)] + text + digits[seed % len(digits)]


# A token with the prefix that may stay.
TOKENS = {
    "GitHub classic": ("ghp_", made(LETTERS, 36)),
    "GitHub OAuth": ("gho_", made(LETTERS, 36)),
    "GitHub user": ("ghu_", made(LETTERS, 36)),
    "GitHub server": ("ghs_", made(LETTERS, 36)),
    "GitHub refresh": ("ghr_", made(LETTERS, 76)),
    "GitHub fine-grained": ("github_pat_", made(LETTERS, 22) + "_" + made(LETTERS, 59)),
    "Anthropic": ("sk-ant-", "api03-" + made(LETTERS + "-_", 93) + "AA"),
    "OpenAI classic": ("sk-", made(LETTERS, 20) + "T3BlbkFJ" + made(LETTERS, 20)),
    "OpenAI project": ("sk-proj-", made(LETTERS + "-_", 120)),
    "OpenAI service": ("sk-svcacct-", made(LETTERS + "-_", 90)),
    "OpenRouter": ("sk-or-v1-", made(HEX, 64)),
    "Google API": ("AIza", made(LETTERS + "-_", 35)),
    "Google OAuth": ("ya29.", made(LETTERS + "-_", 120)),
    "Google client secret": ("GOCSPX-", made(LETTERS + "-_", 28)),
    "Hugging Face": ("hf_", made(LETTERS, 34)),
    "npm": ("npm_", made(LETTERS, 36)),
    "PyPI": ("pypi-", "AgEIcHlwaS5vcmcC" + made(LETTERS + "-_", 120)),
    "RubyGems": ("rubygems_", made(HEX, 48)),
    "Slack bot": ("xoxb-", "12345678901-" + made(LETTERS, 24)),
    "Slack user": ("xoxp-", "12345678901-98765432109-" + made(HEX, 32)),
    "Slack app": ("xapp-", "1-A0123-" + made(HEX, 64)),
    "Slack webhook": (
        "hooks.slack.com/services/",
        f"T{made(BASE32, 8)}/B{made(BASE32, 8)}/{made(LETTERS, 24)}",
    ),
    "Discord webhook": ("discord.com/api/webhooks/1234567890/", made(LETTERS + "-_", 68)),
    "AWS access key": ("AKIA", made(BASE32, 16)),
    "AWS temporary key": ("ASIA", made(BASE32, 16)),
    "Stripe live": ("sk_live_", made(LETTERS, 24)),
    "Stripe test": ("sk_test_", made(LETTERS, 24)),
    "Stripe restricted": ("rk_live_", made(LETTERS, 24)),
    "Stripe webhook": ("whsec_", made(LETTERS, 32)),
    "GitLab": ("glpat-", made(LETTERS + "-_", 20)),
    "GitLab runner": ("glrt-", made(LETTERS + "-_", 20)),
    "DigitalOcean": ("dop_v1_", made(HEX, 64)),
    "SendGrid": ("SG.", made(LETTERS, 22) + "." + made(LETTERS, 43)),
    "Twilio": ("SK", made(HEX, 32)),
    "Mailgun": ("key-", made(HEX, 32)),
    "Shopify": ("shpat_", made(HEX, 32)),
    "Square": ("sq0csp-", made(LETTERS + "-_", 43)),
    "Docker": ("dckr_pat_", made(LETTERS + "-_", 27)),
    "Figma": ("figd_", made(LETTERS + "-_", 40)),
    "Grafana": ("glsa_", made(LETTERS, 32) + "_" + made(HEX, 8)),
    "Groq": ("gsk_", made(LETTERS, 52)),
    "xAI": ("xai-", made(LETTERS, 80)),
    "Vault": ("hvs.", made(LETTERS, 90)),
    "Linear": ("lin_api_", made(LETTERS, 40)),
    "Notion": ("ntn_", made(LETTERS, 46)),
    "Netlify": ("nfp_", made(LETTERS, 36)),
    "Supabase": ("sbp_", made(HEX, 40)),
    "Databricks": ("dapi", made(HEX, 32)),
    "Tailscale": ("tskey-", "auth-" + made(LETTERS, 12) + "-" + made(LETTERS, 32)),
    "Replicate": ("r8_", made(LETTERS, 37)),
    "JSON web token": (
        "eyJ",
        f"{made(LETTERS, 17)}.eyJ{made(LETTERS, 60)}.{made(LETTERS + '-_', 43)}",
    ),
}

PW = "s3cr" + "et-Wert" + "9"
KEY40 = made(LETTERS + "/+", 40)
B64 = made(LETTERS + "/+", 64)

# A line with a value that must go; all else in the line must stay.
PLACES = {
    "env file": (f"DB_PASSWORD={PW}", PW),
    "key header": (f"curl -H 'X-Api-Key: {PW}' https://x.test/", PW),
    "env file, letters only": ("DB_PASSWORD=korrektpferd", "korrektpferd"),
    "exported": (f"export API_KEY={PW}", PW),
    "quoted": (f'SECRET_KEY="{PW}"', PW),
    "single quotes": (f"APP_SECRET='{PW}'", PW),
    "rails": (f"SECRET_KEY_BASE={made(HEX, 64)}", made(HEX, 64)),
    "before a command": (f"PGPASSWORD={PW} psql -h db app", PW),
    "docker -e": (f"docker run -e MYSQL_ROOT_PASSWORD={PW} mysql:8", PW),
    "yaml": (f"  password: {PW}", PW),
    "yaml, short": ("password: hunter22", "hunter22"),
    "json": (f'{{"user": "a", "password": "{PW}"}}', PW),
    "json in json": (f'{{\\"password\\": \\"{PW}\\"}}', PW),
    "camelCase": (f'clientSecret: "{PW}"', PW),
    "python": (f'api_key = "{PW}"', PW),
    "python dict": (f"{{'access_token': '{PW}'}}", PW),
    "ruby": (f':password => "{PW}"', PW),
    "go": (f'token := "{PW}"', PW),
    "toml": (f'auth_token = "{PW}"', PW),
    "npmrc": (f"//registry.npmjs.org/:_authToken={PW}", PW),
    "npmrc, basic": (f"_auth={B64}", B64),
    "xml": (f"<password>{PW}</password>", PW),
    "query string": (f"GET /cb?access_token={PW}&state=1", PW),
    "powershell": (f'$env:API_TOKEN = "{PW}"', PW),
    "fish": (f"set -x API_TOKEN {PW}", PW),
    "csh": (f"setenv API_TOKEN {PW}", PW),
    "netrc": (f"machine h login me password {PW}", PW),
    "aws": (f"aws_secret_access_key = {KEY40}", KEY40),
    "aws json": (f'"SecretAccessKey": "{KEY40}"', KEY40),
    "aws configure": (f"aws configure set aws_secret_access_key {KEY40}", KEY40),
    "azure": (f"AccountName=a;AccountKey={B64}==;x=1", B64),
    "signed address": (f"https://x.blob.core.windows.net/c?sv=1&sig={B64}", B64),
    "postgres": (f"postgres://app:{PW}@db:5432/app", PW),
    "redis": (f"redis://:{PW}@cache:6379/0", PW),
    "git remote": (f"https://oauth2:{made(LETTERS, 20)}@gitlab.com/a/b.git", made(LETTERS, 20)),
    "bearer": (f"Authorization: Bearer {made(LETTERS, 32)}", made(LETTERS, 32)),
    "basic": (f"Authorization: Basic {B64}", B64),
    "token scheme": (f"authorization: token {made(HEX, 40)}", made(HEX, 40)),
    "header in curl": (f'curl -H "Authorization: Bearer {PW}{PW}" x', PW),
    "api key header": (f"x-api-key: {made(LETTERS, 24)}", made(LETTERS, 24)),
    "gitlab header": (f"PRIVATE-TOKEN: {made(LETTERS, 20)}", made(LETTERS, 20)),
    "cookie": (f"Cookie: sid={made(LETTERS, 32)}; lang=ko", made(LETTERS, 32)),
    "set-cookie": (f"< Set-Cookie: session={B64}; HttpOnly", B64),
    "option =": (f"tool --password={PW} run", PW),
    "option = letters": ("tool --password=pferdekorb run", "pferdekorb"),
    "option": (f"tool --token {PW} run", PW),
    "quoted option": (f"tool --api-key '{PW}'", PW),
    "client secret": (f"az ad app --client-secret={PW}", PW),
    "mysql -p": (f"mysql -u root -p{PW} app", PW),
    "mysqldump": (f"mysqldump -p{PW} app > a.sql", PW),
    "sudo -S": (f"echo '{PW}' | sudo -S ls", PW),
    "sudo -kS": (f"echo {PW} | sudo -k -S ls", PW),
    "chpasswd": (f'RUN echo "root:{PW}" | chpasswd', PW),
    "sshpass": (f"sshpass -p {PW} ssh host", PW),
    "docker login": (f"docker login -u me -p {PW} registry", PW),
    "curl -u": (f"curl -s -u me:{PW} https://x", PW),
    "redis-cli": (f"redis-cli -h h -a {PW} ping", PW),
    "mongo": (f"mongosh -u me -p {PW} db", PW),
    "7z": (f"7z a -p{PW} a.7z b", PW),
    "openssl": (f"openssl rsa -passin pass:{PW} -in k", PW),
    "kubectl": (f"kubectl create secret generic s --from-literal=pw={PW}", PW),
    "telegram": (
        f"https://api.telegram.org/bot123456789:AA{made(LETTERS, 33)}/x",
        made(LETTERS, 33),
    ),
    "in a diff": (f"+DB_PASSWORD={PW}", PW),
    "in a log": (f"2030-01-01 INFO connect password={PW} host=db", PW),
    "Korean text": (f"비밀번호 password: {PW} 입니다", PW),
}

SHA1, SHA256 = made(HEX, 40), made(HEX, 64)
UUID = "-".join(made(HEX, n) for n in (8, 4, 4, 4, 12))

UNTOUCHED = [
    f"commit {SHA1}",
    f"{SHA1[:7]} Fix the token parser",
    f"Merge: {SHA1[:7]} {SHA1[7:14]}",
    f"sha256:{SHA256}",
    f"{SHA256}  dist/pmem.whl",
    f"docker pull alpine@sha256:{SHA256}",
    f"docker://alpine:3.19@sha256:{SHA256}",
    UUID,
    f"request_id={UUID}",
    f"ETag: {made(HEX, 32)}",
    f'"integrity": "sha512-{B64}{B64[:22]}=="',
    f"github.com/a/b v1.2.3 h1:{B64[:43]}=",
    f'checksum = "{SHA256}"',
    f"data:image/png;base64,iVBORw0KGgo{B64}{B64}",
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B64[:43]} me@host",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "The word password alone, and the word token.",
    "Enter password: ",
    "Password:",
    "error: invalid password",
    "password must be at least 8 characters",
    "def reset_password(user: User, password: str) -> None:",
    "function login(username: string, password: string) {",
    "password = getpass.getpass()",
    "echo $SUDO_PASSWORD | sudo -S ls",
    "echo config-v2=yes9 | sudo tee /etc/app.conf",
    "echo stretch1:9 | tee chpasswd.txt",
    'password = os.environ["DB_PASSWORD"]',
    "const token = await getToken(user1)",
    "token = self.token1.value",
    "token := tokens[0]",
    "apiKey: process.env.OPENAI_API_KEY,",
    "api_key=settings.api_key2",
    "password=password",
    "password: password",
    "password = None",
    '"password": "string"',
    '"token": "access_token"',
    "token: required",
    "max_tokens: 4096",
    '"total_tokens": 123456',
    "tokens: 12345678 in, 910 out",
    "AuthenticationTokenProvider",
    'provide: TokenService, token: "AccessTokenInterceptor"',
    "getClientSecretFromVault(secretName)",
    "secretName: my-app-tls",
    "secretKeyRef:",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "TOKEN=$GITHUB_TOKEN ./run",
    "export PASSWORD=$(pass show db)",
    'API_KEY="${API_KEY}"',
    "API_KEY=your-api-key-here",
    "OPENAI_API_KEY=<your key>",
    "PASSWORD=changeme",
    "SECRET_KEY=xxxxxxxxxxxx",
    "DB_PASSWORD_FILE=/run/secrets/db",
    "TOKEN_PATH=/var/run/token",
    "SSH_AUTH_SOCK=/tmp/ssh-abc123/agent.1",
    "PASSWORD=/run/secrets/password",
    "--password-stdin",
    "  --token string   the token to use",
    "use --password to set it",
    "tool --api-key <key>",
    "tool --private-key ~/.ssh/id_ed25519",
    "docker run -p 8080:80 nginx",
    "mkdir -p src/password",
    "ssh -p 2222 host",
    "curl -u $USER:$PASS https://x",
    "https://user@github.com/a/b.git",
    "postgres://user:${PGPASSWORD}@db/app",
    "postgres://user:password@localhost/app",
    "http://localhost:8080/a@b",
    "https://example.com:443/path",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "sk-learn and sk-image are packages",
    "class=sk-circle-fade-dot-animation-wrapper",
    "npm_config_registry=https://registry.npmjs.org/",
    "npm_package_version",
    "hf_hub_download(repo_id)",
    "key-value-store-implementation-details",
    "re_compile_pattern_internal_function",
    "SKIPPED 12 tests",
    "AKIAlike",
    "eyJ is how a JSON web token begins",
    "0x7ffe3c2a1b40 in main ()",
    "<password>string</password>",
    "<privateer>kept</privateer>",
    "src/auth/token.py:12: error: unexpected token: 'else'",
    "세션 토큰이 만료되었습니다",
    "パスワード: 8文字以上",
]


@pytest.mark.parametrize("prefix, secret", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize(
    "around", ["{}", 'x = "{}"', "got {}, done", "{}\n{}", "(`{}`)", "값은 {} 이다", "\\n{}\\n"]
)
def test_a_token_leaves_its_prefix_and_its_length(prefix: str, secret: str, around: str) -> None:
    text = around.replace("{}", prefix + secret)
    left = redact(text)
    assert secret not in left and secret[-12:] not in left
    mark = f"{prefix if len(prefix) < 24 else ''}…[redacted "
    assert mark in left
    assert redact(left) == left


def test_the_mark_tells_the_length_of_the_whole_token() -> None:
    assert redact("ghp_" + made(LETTERS, 36)) == "ghp_…[redacted 40]"


@pytest.mark.parametrize("line, secret", PLACES.values(), ids=PLACES)
def test_a_value_where_a_secret_stands_goes_and_all_else_stays(line: str, secret: str) -> None:
    left = redact(f"before\n{line}\nafter\n")
    assert secret not in left
    assert left.startswith("before\n" + line[: line.index(secret[:4])][:6])
    assert left.endswith("\nafter\n")
    assert "…[redacted " in left
    assert redact(left) == left


@pytest.mark.parametrize("line", UNTOUCHED)
def test_what_is_no_secret_stays_to_the_letter(line: str) -> None:
    assert redact(line) == line
    assert redact(f"a\n{line}\nb") == f"a\n{line}\nb"


def test_there_are_enough_cases_of_both_kinds() -> None:
    assert len(TOKENS) + len(PLACES) >= 60
    assert len(UNTOUCHED) >= 60


def test_a_commit_beside_a_token_is_intact() -> None:
    token = "ghp_" + made(LETTERS, 36)
    assert redact(f"{SHA1} {token}\n{UUID}") == f"{SHA1} ghp_…[redacted 40]\n{UUID}"


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
def test_of_a_private_key_only_its_frame_is_left(kind: str) -> None:
    body = "\n".join(made(LETTERS + "/+", 64, seed) for seed in range(6))
    key = f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"
    left = redact(f"$ cat key\n{key}\n$ ls\n")
    assert left.startswith(f"$ cat key\n-----BEGIN {kind}PRIVATE KEY-----…[redacted ")
    assert left.endswith(f"-----END {kind}PRIVATE KEY-----\n$ ls\n")
    assert not any(line in left for line in body.split("\n"))
    cut = redact(f"-----BEGIN {kind}PRIVATE KEY-----\n{body[:200]}")
    assert body[:60] not in cut and body[100:160] not in cut


def test_a_private_key_in_json_goes_too() -> None:
    body = "\\n".join(made(LETTERS + "/+", 64, seed) for seed in range(4))
    text = f'"key": "-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----\\n",'
    assert made(LETTERS + "/+", 64, 2) not in redact(text)


def test_private_spans_are_dropped_also_nested_and_over_lines() -> None:
    assert redact("a <private>b</private> c") == f"a {PRIVATE} c"
    assert redact("a <PRIVATE>b\nc</Private> d") == f"a {PRIVATE} d"
    assert redact("a <private>b <private>c</private> d</private> e") == f"a {PRIVATE} e"
    assert redact("<private>open") == "<private>open"
    assert redact("closed</private>") == "closed</private>"


def test_a_hundred_secrets_in_one_text_all_go() -> None:
    tokens = [prefix + secret for prefix, secret in TOKENS.values()]
    left = redact("\n".join(tokens * 2))
    assert not any(secret in left for _, secret in TOKENS.values())
    assert left.count("…[redacted ") == 2 * len(tokens)


def test_a_letter_that_grows_in_lower_case_moves_nothing() -> None:
    assert redact(f"İİİ Password: {PW} İ") == f"İİİ Password: …[redacted {len(PW)}] İ"


pieces = st.sampled_from(
    [
        *(prefix + secret for prefix, secret in TOKENS.values()),
        *(prefix for prefix, _ in TOKENS.values()),
        *(line for line, _ in PLACES.values()),
        *UNTOUCHED,
        *("password", "token=", "secret: ", '"', "'", " ", "\n", "=", ":", "://", "@", "\\", "…"),
        *(
            "<private>",
            "</private>",
            "…[redacted 9]",
            "[private]",
            "-----BEGIN ",
            "-----END",
            "{",
            "$",
        ),
    ]
)


@examples(400)
@given(st.lists(pieces | st.text(max_size=12), max_size=12).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@examples(200)
@given(st.text(st.characters(), max_size=200))
def test_any_text_survives_and_prose_is_left_alone(text: str) -> None:
    left = redact(text)
    if "…[redacted" not in left and PRIVATE not in left:
        assert left == text


@examples(200)
@given(
    st.sampled_from(sorted(TOKENS)),
    st.text(max_size=30),
    st.sampled_from(" \n\t\"'`=:,;()[]{}<>|&"),
)
def test_a_token_between_any_texts_is_found(name: str, text: str, border: str) -> None:
    prefix, secret = TOKENS[name]
    assert secret not in redact(f"{text}{border}{prefix}{secret}{border}{text}")


@pytest.mark.parametrize(
    "unit",
    ["password=", "sk-", "eyJ-", "://a:", "curl ", "mysql ", "token: ", "-----BEGIN ", "ghp_"],
)
def test_hostile_repetition_ends(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    assert isinstance(redact(text), str)


def test_marks_are_what_readers_can_search_for() -> None:
    left = redact("\n".join(line for line, _ in PLACES.values()))
    assert len(re.findall(r"…\[redacted \d+\]", left)) >= len(PLACES)


def test_a_users_own_expression_takes_what_it_matches_or_its_group() -> None:
    mine = redactor([r"EMP-\d{6}", r"pin (?P<secret>\d{4})", r"\d{5}"])
    assert mine("EMP-123456, pin 1234") == "…[redacted 10], pin …[redacted 4]"
    assert mine(mine("EMP-123456 12345")) == mine("EMP-123456 12345")
    token = "ghp_" + made(LETTERS, 36)
    assert mine(token) == "ghp_…[redacted 40]"
    assert redactor([]) is redact


@pytest.mark.parametrize("pattern", ["(", "a*", "", "(?P<secret>x)?", "x" * 3 + "{99999999999}"])
def test_an_expression_that_cannot_be_used_is_told(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"^secrets: "):
        redactor([pattern])


def test_what_is_found_is_shown_without_its_value() -> None:
    token = "ghp_" + made(LETTERS, 36)
    told = findings(f"a {token} b <private>c</private> DB_PASSWORD={PW} x-…[redacted 9]")
    assert told == ["ghp_…[redacted 40]", "[private]", f"…[redacted {len(PW)}]"]
    assert findings("commit " + SHA1) == []


@pytest.mark.parametrize("word", ["sk-", "token=", "-----BEGIN ", "eyJ", "://a:"])
def test_a_text_that_begins_many_secrets_and_ends_none_is_read_in_a_moment(word: str) -> None:
    assert len(redact(word * 8000)) > 0
