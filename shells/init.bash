# What `pmem init bash` prints, for an interactive bash: `pmem on`, `pmem off`, completion.
#
# Nothing runs here but definitions. Read twice, it does the same as read once; with pmem removed
# it leaves a function that says "command not found" as the shell itself would.

if [[ $- == *i* ]]; then

# A tmux that was started under pmem outlives the session, with its variables.
if [[ -n ${PMEM_SOCK-} && ! -S $PMEM_SOCK ]]; then
    unset PMEM_ACTIVE PMEM_SOCK PMEM_TOKEN PMEM_HOOKED
fi

function pmem {
    case ${1-} in
        on) shift && __pmem_on "$@" ;;
        off) shift && __pmem_off "$@" ;;
        *) command pmem "$@" ;;
    esac
}

function __pmem_say { builtin printf 'pmem: %s\n' "$1" >&2; }

# __pmem_on [OPTION…]: goes on in a recorded shell, with what is defined here and not in an rc file.
function __pmem_on {
    if [[ -n ${__pmem_loaded-} ]]; then
        __pmem_say 'it is on'
        return 0
    elif [[ -n ${PMEM_ACTIVE-} ]]; then
        __pmem_say 'it is on around this shell, which is one step of that one: leave it first'
        return 1
    fi
    local dir code back=''
    dir=$(command mktemp -d "${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}/pmem-on.XXXXXX") || return
    __pmem_state >|"$dir/state"
    builtin history -a 2>/dev/null
    PMEM_BACK=$dir command pmem shell --shell "$BASH" "$@"
    code=$?
    builtin history -n 2>/dev/null
    IFS= builtin read -r -d '' back 2>/dev/null <"$dir/cwd" || :
    command rm -rf -- "$dir"
    [[ -z $back ]] || builtin cd -- "$back"
    return "$code"
}

# Leaves the recorded shell, to the directory where it is.
function __pmem_off {
    if [[ -z ${__pmem_loaded-} ]]; then
        [[ -z ${PMEM_ACTIVE-} ]] && __pmem_say 'it is off' && return
        __pmem_say 'it is on around this shell, not in it: leave this one first'
        return 1
    elif [[ -n $(builtin jobs -p) ]]; then
        __pmem_say 'jobs are left here that would end with this shell; see jobs, or leave by exit'
        return 1
    fi
    [[ -z ${__pmem_back-} ]] || builtin printf '%s' "$PWD" >|"$__pmem_back/cwd"
    builtin exit 0
}

# Aliases, functions and variables, each as a line that defines it where it is missing. What is
# exported comes by itself; names with two underscores in front are the machinery of some tool.
function __pmem_state {
    ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) || return 0
    local IFS=$'\n' __pmem_r
    for __pmem_r in "${!BASH_ALIASES[@]}"; do
        builtin printf 'alias %q >/dev/null 2>&1 || alias %q=%q\n' \
            "$__pmem_r" "$__pmem_r" "${BASH_ALIASES[$__pmem_r]}"
    done
    for __pmem_r in $(builtin compgen -A function); do
        [[ $__pmem_r != __* && $__pmem_r != pmem ]] || continue
        builtin printf 'declare -F -- %q >/dev/null ||\n' "$__pmem_r"
        builtin declare -f -- "$__pmem_r"
    done
    for __pmem_r in $(builtin compgen -A variable); do
        [[ $__pmem_r != __* && $__pmem_r != IFS && -n ${!__pmem_r+x} ]] || continue
        [[ ${!__pmem_r@a} != *[xr]* ]] || continue
        builtin printf '[[ -n ${%s+x} ]] || ' "$__pmem_r"
        builtin declare -p -- "$__pmem_r"
    done
}

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    # click's own completion, fetched when it is first asked for.
    function __pmem_complete {
        builtin eval "$(_PMEM_COMPLETE=bash_source command pmem 2>/dev/null)"
        ! builtin declare -F _pmem_completion >/dev/null || _pmem_completion "$@"
    }
    builtin complete -F __pmem_complete pmem
fi

fi
