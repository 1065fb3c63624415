#!/bin/sh
# Installs, starts, tests or removes pmem. POSIX sh; `./install.sh --help` says what it does.
set -eu

usage() {
    cat <<'EOF'
usage: ./install.sh [--python PATH] [--with EXTRA]   install pmem, or upgrade it in place
       ./install.sh --run [[--] ARGS…]               install if needed, then start pmem here
       ./install.sh --test [[--] PYTEST-ARGS…]       set up .venv in this checkout, run the tests
       ./install.sh --uninstall [--yes | --keep]     remove pmem; banks in projects stay

pmem goes into a private environment, ${XDG_DATA_HOME:-~/.local/share}/pmem/venv, with one
link to it, ~/.local/bin/pmem. It needs Python 3.11 or newer with venv.

  --python PATH   use this Python instead of the newest one found
  --with EXTRA    with what a part of pmem needs besides: proxy (aider, Cline, any program that
                  has a base URL), openai (a model of that kind), gate (scikit-learn, to learn
                  a gate), train (that and TRL with torch: gigabytes), harbor, tau2 and mem0
                  (benchmarks: pmem eval). Upgrades keep it
  --yes           with --uninstall: remove settings and recorded sessions too, do not ask
  --keep          with --uninstall: keep settings and recorded sessions, do not ask
                  (with neither, and no terminal to ask on, they are removed)
EOF
}

say() { printf '%s\n' "$*" >&2; }

die() {
    say "install.sh: $*"
    exit 1
}

misused() {
    say "install.sh: $*"
    say "Try: ./install.sh --help"
    exit 2
}

# --- where things are -------------------------------------------------------------------

checkout() {
    self=$0
    case $self in */*) ;; *) [ -e "./$self" ] || self=$(command -v -- "$self") ;; esac
    while [ -h "$self" ]; do
        target=$(readlink "$self")
        case $target in /*) self=$target ;; *) self=$(dirname -- "$self")/$target ;; esac
    done
    CDPATH='' cd -- "$(dirname -- "$self")" && pwd -P
}

find_places() {
    [ -n "${HOME:-}" ] || die "HOME is not set. Set it to your home directory and start again."
    case $HOME in /*) ;; *) die "HOME is '$HOME', which is not an absolute path." ;; esac
    [ -d "$HOME" ] || die "HOME is '$HOME', and there is no such directory."
    data_home=$(absolute "${XDG_DATA_HOME:-}" "$HOME/.local/share")
    config_home=$(absolute "${XDG_CONFIG_HOME:-}" "$HOME/.config")
    state_home=$(absolute "${XDG_STATE_HOME:-}" "$HOME/.local/state")
    cache_home=$(absolute "${XDG_CACHE_HOME:-}" "$HOME/.cache")
    base=$data_home/pmem
    venv=$base/venv
    absent=$base/absent-before
    bin=$HOME/.local/bin
    link=$bin/pmem
}

absolute() {  # a relative XDG directory counts as not set, as the XDG specification has it
    case $1 in /*) printf '%s\n' "$1" ;; *) printf '%s\n' "$2" ;; esac
}

# --- Python -----------------------------------------------------------------------------

python_answers='
import sys
if sys.version_info < (3, 11):
    sys.exit(3)
try:
    import ensurepip, venv
except ImportError:
    print(f"{sys.version_info[0]}.{sys.version_info[1]}")
    sys.exit(4)
print(sys.executable)
'

# Sets `python`, or says what is missing and returns 1. `without_venv` is then the version
# of a Python that is new enough and only lacks venv.
find_python() {
    python='' without_venv='' too_old=''
    if [ -n "$asked_python" ]; then
        try_python "$asked_python" && return
    else
        for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
            try_on_path "$name" && return
        done
    fi
    if [ -n "$without_venv" ]; then
        say "install.sh: Python $without_venv is here, but without venv and ensurepip."
        venv_advice
    else
        say "install.sh: no Python 3.11 or newer was found${too_old:+ ($too_old is older)}."
        python_advice
    fi
    return 1
}

try_on_path() {
    rest=$PATH:/opt/homebrew/bin:/usr/local/bin:
    while [ -n "$rest" ]; do
        directory=${rest%%:*}
        rest=${rest#*:}
        if [ -n "$directory" ] && [ -x "$directory/$1" ] && try_python "$directory/$1"; then
            return
        fi
    done
    return 1
}

try_python() {  # a pyenv shim of a version that is not chosen fails here, and is passed over
    answer=$("$1" -I -c "$python_answers" 2>/dev/null </dev/null) && code=0 || code=$?
    case $code in
        0) python=$answer ;;
        3) too_old=${too_old:-$1} ;;
        4) without_venv=${without_venv:-$answer} ;;
    esac
    return "$code"
}

venv_advice() {
    if has apt-get; then
        say "Install it:  sudo apt-get install python$without_venv-venv"
    else
        say "Install the package of your system that holds venv for Python $without_venv,"
        say "or name another Python:  ./install.sh --python PATH"
    fi
}

python_advice() {
    if has brew; then
        say "Install one:  brew install python@3.13"
    elif has apt-get; then
        say "Install one:  sudo apt-get install python3 python3-venv"
        say "(where that is older than 3.11:  sudo apt-get install python3.11 python3.11-venv)"
    elif has dnf; then
        say "Install one:  sudo dnf install python3.12"
    elif has pacman; then
        say "Install one:  sudo pacman -S python"
    elif has apk; then
        say "Install one:  apk add python3 py3-pip"
    else
        say "Install one from your system's packages or from python.org,"
    fi
    say "or name one that is somewhere else:  ./install.sh --python PATH"
}

has() { command -v "$1" >/dev/null 2>&1; }

# Runs venv or pip in the checkout. No setting of the user's may send the packages elsewhere, and
# nothing may be left in HOME: neither a cache of pip's own, nor, since pip asks rustc for its
# version, what a rustup without a home makes there.
set_up() {
    scratch=$(mktemp -d) || return
    (
        cd -- "$here" || exit
        unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_REQUIRE_VIRTUALENV
        [ -d "${RUSTUP_HOME:-${HOME:-}/.rustup}" ] || export RUSTUP_HOME="$scratch"
        export XDG_CACHE_HOME="$scratch" PIP_USER=0 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
        export PIP_DISABLE_PIP_VERSION_CHECK=1
        exec "$@" >&2
    ) && code=0 || code=$?
    rm -rf -- "$scratch"
    scratch=''
    return "$code"
}

# --- install ----------------------------------------------------------------------------

install_pmem() {
    link_is_ours || die "$link is there already and was not made by this script.
Rename or remove it, then start again; nothing was changed."
    find_python || exit 1
    note_what_is_absent
    make_directory "$base" ||
        die "cannot write to $base.
Make it writable, or choose another place:  XDG_DATA_HOME=/some/where ./install.sh"
    make_directory "$bin" || die "cannot write to $bin, where the command pmem is to stand."
    sweep_leftovers
    say "Installing pmem into $venv …"
    stage=$base/venv.new.$$
    set_up "$python" -I -m venv "$stage" ||
        die "$python could not make a virtual environment in $stage (see above)."
    extras=$(all_extras)
    set_up "$stage/bin/python" -I -m pip install -q ".${extras:+[$extras]}" ||
        die "pip could not install pmem (see above); an earlier installation stands as it was."
    version=$("$stage/bin/python" -I -m pmem --version) ||
        die "the new pmem does not start (see above); an earlier installation stands as it was."
    source_stamp >"$stage/pmem-source"
    printf '%s\n' "$extras" >"$stage/pmem-extras"
    swap_in || die "could not put the new environment in its place, $venv."
    keep_absent_note
    set_link || die "could not make the link $link."
    installed=yes
    say "Installed: $version  ($link)"
    case ,$extras, in *,harbor,*) harbor_advice ;; esac
    path_advice
}

# What was asked for now and at earlier installations, as pip reads it: a,b.
all_extras() {
    printf '%s\n' "$(kept_extras)" "$asked_extras" | tr , '\n' | sed '/^$/d' | sort -u |
        paste -s -d , -
}

harbor_advice() {
    "$venv/bin/python" -I -c 'import sys; sys.exit(sys.version_info < (3, 12))' && return
    say "Harbor needs Python 3.12 or newer, and pmem has an older one: Harbor is not installed."
    say "With a newer one:  ./install.sh --python PATH --with harbor"
}

kept_extras() { [ ! -f "$venv/pmem-extras" ] || cat "$venv/pmem-extras"; }

link_is_ours() {
    [ -h "$link" ] || { [ ! -e "$link" ] && return; }
    case $(readlink "$link") in */pmem/venv/bin/pmem) ;; *) return 1 ;; esac
}

make_directory() { mkdir -p -- "$1" 2>/dev/null && [ -w "$1" ]; }

set_link() { ln -s -- "$venv/bin/pmem" "$link.$$" && mv -f -- "$link.$$" "$link"; }

# The directories that do not exist yet: removed again by --uninstall, if empty by then.
note_what_is_absent() {
    missing=''
    for directory in "$data_home" "$config_home" "$state_home" "$cache_home" "$bin"; do
        while [ ! -d "$directory" ]; do
            missing="$missing$directory
"
            directory=$(dirname -- "$directory")
        done
    done
}

keep_absent_note() {
    [ -f "$absent" ] || printf '%s' "$missing" | sort -ru >"$absent"
}

# The new environment takes the old one's place by two renames. An environment knows its own
# path, in pyvenv.cfg and in the first line of its scripts, so that is put right before.
swap_in() {
    "$python" -I - "$stage" "$venv" "$venv.old.$$" <<'EOF'
import os, pathlib, shutil, sys

stage, venv, old = sys.argv[1:]
inside = pathlib.Path(stage)
for file in [inside / "pyvenv.cfg", *(inside / "bin").iterdir()]:
    if file.is_file() and not file.is_symlink():
        text = file.read_bytes()
        if os.fsencode(stage) in text:
            file.write_bytes(text.replace(os.fsencode(stage), os.fsencode(venv)))
if os.path.lexists(venv):
    os.rename(venv, old)
try:
    os.rename(stage, venv)
except OSError:
    if os.path.lexists(old):
        os.rename(old, venv)
    raise
shutil.rmtree(old, ignore_errors=True)
EOF
}

# What an installation that was killed left behind.
sweep_leftovers() {
    for left in "$base"/venv.old.* "$base"/venv.new.*; do
        [ -d "$left" ] || continue
        kill -0 "${left##*.}" 2>/dev/null && continue
        case $left in
            *.old.*) [ -e "$venv" ] || { mv -- "$left" "$venv" && continue; } ;;
        esac
        rm -rf -- "$left"
    done
}

clean_up() {
    [ -z "${stage:-}" ] || rm -rf -- "$stage"
    [ -z "${scratch:-}" ] || rm -rf -- "$scratch"
    if [ -z "${installed:-}" ] && [ -n "${missing+set}" ] && [ ! -e "$venv" ]; then
        rmdir -- "$base" 2>/dev/null || :
        printf '%s' "$missing" | sort -ru | remove_if_empty
    fi
}

remove_if_empty() {
    while IFS= read -r directory; do
        rmdir -- "$directory" 2>/dev/null || :
    done
}

# Equal as long as the same checkout holds the same code.
source_stamp() {
    (
        cd -- "$here"
        pwd
        find pmem shells pyproject.toml -type f ! -name '*.pyc' -exec cksum {} + | sort | cksum
    )
}

is_current() {
    [ -f "$venv/pmem-source" ] && [ "$(cat "$venv/pmem-source")" = "$(source_stamp)" ] &&
        [ "$(kept_extras)" = "$(all_extras)" ] &&
        [ -h "$link" ] && "$venv/bin/python" -I -c '' 2>/dev/null && [ -x "$venv/bin/pmem" ]
}

path_advice() {
    case :$PATH: in *:"$bin":*) return ;; esac
    say ""
    say "The directory ~/.local/bin is not on your PATH. Add this line to a start-up file, then"
    case ${SHELL:-} in
        */fish) say "open a new terminal (config.fish):  fish_add_path ~/.local/bin" ;;
        */zsh) say "open a new terminal (~/.zshrc):  export PATH=\"\$HOME/.local/bin:\$PATH\"" ;;
        *) say "open a new terminal (~/.bashrc):  export PATH=\"\$HOME/.local/bin:\$PATH\"" ;;
    esac
    say "Until then:  ~/.local/bin/pmem"
}

# --- uninstall --------------------------------------------------------------------------

uninstall() {
    [ -e "$venv" ] || [ -h "$link" ] || say "pmem is not installed in $base."
    if [ -x "$venv/bin/pmem" ] && "$venv/bin/pmem" detach --help >/dev/null 2>&1; then
        "$venv/bin/pmem" detach --all >&2 </dev/null ||
            say "Some projects could not be detached (see above); going on."
    fi
    if [ -h "$link" ] && link_is_ours; then
        rm -f -- "$link"
    fi
    was_absent=''
    [ ! -f "$absent" ] || was_absent=$(cat "$absent")
    rm -rf -- "$venv" "$base"/venv.new.* "$base"/venv.old.* "$absent"
    rmdir -- "$base" 2>/dev/null || :
    if wants_everything_gone; then
        rm -rf -- "$config_home/pmem" "$state_home/pmem" "$cache_home/pmem" \
            "$cache_home/pmem-tests"
    fi
    printf '%s\n' "$was_absent" | remove_if_empty
    say "pmem is removed. Banks in projects (.pmem/) were left alone."
}

wants_everything_gone() {
    [ -d "$config_home/pmem" ] || [ -d "$state_home/pmem" ] || [ -d "$cache_home/pmem" ] ||
        [ -d "$cache_home/pmem-tests" ] || return 1
    case $settings in yes) return ;; keep) return 1 ;; esac
    [ -t 0 ] || return 0
    say "Settings:           $config_home/pmem"
    say "Recorded sessions:  $state_home/pmem"
    printf 'Remove these too? [y/N] ' >&2
    read -r reply || reply=''
    case $reply in [yY]*) ;; *) return 1 ;; esac
}

# --- test -------------------------------------------------------------------------------

run_tests() {
    cd -- "$here"
    install_test_programs
    if ! .venv/bin/python -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
    then
        find_python || { [ -n "$without_venv" ] && install_venv && find_python; } || exit 1
        say "Making .venv with $python …"
        set_up "$python" -I -m venv --clear .venv ||
            die "$python could not make a virtual environment in $here/.venv (see above)."
    fi
    wanted=$(pwd; cksum <pyproject.toml; .venv/bin/python -V)
    if [ "$(cat .venv/pmem-dev 2>/dev/null)" != "$wanted" ]; then
        say "Installing pmem and what its tests need into .venv …"
        set_up .venv/bin/python -I -m pip install -q -e '.[dev]' ||
            die "pip could not set up .venv (see above)."
        printf '%s\n' "$wanted" >.venv/pmem-dev
    fi
    install_newer_python
    result=0
    check ruff check .
    check ruff format --check .
    check mypy
    .venv/bin/python -m pytest "$@" || result=$?
    [ -z "${PMEM_AUDIT:-}" ] || audit
    exit "$result"
}

# Known advisories for what is installed. One that is new is no fault of what is tested: it is told,
# and fails the run only under PMEM_AUDIT=strict, as before a release.
audit() {
    [ "$PMEM_AUDIT" != strict ] || set -- --strict
    .venv/bin/python -I tests/trust/audit.py "$@" || result=$?
}

check() {
    .venv/bin/python -m "$@" || {
        result=$?
        say "install.sh: '$*' failed (see above); the tests still run, the exit code is $result."
    }
}

install_test_programs() {
    install_browser
    lacking=''
    for program in git zsh fish tmux shellcheck vim less htop sudo sshd; do
        has_for_tests "$program" || lacking="$lacking $program"
    done
    [ -n "$lacking" ] || return 0
    if as_root_with_apt; then
        say "Installing for the tests:$lacking"
        # shellcheck disable=SC2046 # a list of words
        apt_install $(echo "$lacking" | sed s/sshd/openssh-server/) || say "apt-get could not install all of them (see above)."
    fi
    for program in $lacking; do
        has_for_tests "$program" ||
            say "$program is not installed: the tests that need it are skipped."
    done
}

has_for_tests() (PATH=$PATH:/usr/sbin has "$1")

# On its own: where the package has another name, the others must still be had.
install_browser() {
    for browser in chromium chromium-browser google-chrome google-chrome-stable; do
        has "$browser" && return 0
    done
    as_root_with_apt && apt_install chromium && return 0
    say "chromium is not installed: the test of the report in a browser is skipped."
}

# Harbor's: pmem itself is tested with what .venv has.
install_newer_python() {
    for newer in python3.14 python3.13 python3.12 "${HOME:-}"/.pyenv/versions/3.1[2-9]*/bin/python3
    do
        has "$newer" && "$newer" -I -c 'import ensurepip' 2>/dev/null && return 0
    done
    for package in python3.13-venv python3.12-venv; do
        as_root_with_apt && apt-cache show "$package" >/dev/null 2>&1 &&
            apt_install "$package" && return 0
    done
    say "No Python 3.12 or newer is installed: the tests with Harbor are skipped."
}

install_venv() {
    as_root_with_apt && apt_install "python$without_venv-venv"
}

as_root_with_apt() { [ "$(id -u)" = 0 ] && has apt-get; }

apt_install() {
    set -- env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
    "$@" >/dev/null 2>&1 || { apt-get update -qq >&2 && "$@" >&2; }
}

# --- the command line -------------------------------------------------------------------

mode=install
asked_python='' asked_extras=''
extras_there='proxy, openai, gate, train, harbor, tau2 and mem0'
settings=ask
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --run) mode=run ;;
        --test) mode='test' ;;
        --uninstall) mode=uninstall ;;
        --yes) settings=yes ;;
        --keep) settings=keep ;;
        --python) [ $# -gt 1 ] || misused "--python needs a path."; shift; asked_python=$1 ;;
        --with)
            [ $# -gt 1 ] || misused "--with needs the name of an extra: $extras_there."
            shift
            case $1 in
                proxy | openai | gate | train | harbor | tau2 | mem0)
                    asked_extras=$asked_extras,$1 ;;
                *) misused "there is no extra '$1'; there are $extras_there." ;;
            esac ;;
        --) shift; break ;;
        *) case $mode in run | test) break ;; *) misused "unknown argument: $1" ;; esac ;;
    esac
    shift
done
case $mode in
    run | test) ;;
    *) [ $# -eq 0 ] || misused "only --run and --test take further arguments." ;;
esac
[ "$settings" = ask ] || [ "$mode" = uninstall ] || misused "--$settings goes with --uninstall."

here=$(checkout)
[ "$mode" = uninstall ] || [ -f "$here/pyproject.toml" ] ||
    die "there is no pyproject.toml beside this script: it must stand in a clone of pmem."
[ -z "$asked_extras" ] || case $mode in
    install | run) ;;
    *) misused "--with goes with an installation." ;;
esac
unset PYTHONHOME PYTHONPATH

case $mode in
    test) run_tests "$@" ;;
    uninstall) find_places; uninstall ;;
    *)
        find_places
        trap clean_up EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM HUP
        if [ "$mode" = install ]; then
            install_pmem
        else
            is_current || install_pmem
            trap - EXIT INT TERM HUP
            exec "$link" "$@"
        fi
        ;;
esac
