# What `pmem init zsh` prints, for an interactive zsh: `pmem on`, `pmem off`, completion.
#
# Nothing runs here but definitions. Read twice, it does the same as read once; with pmem removed
# it leaves a function that says "command not found" as the shell itself would.

if [[ -o interactive ]]; then

# A tmux that was started under pmem outlives the session, with its variables.
if [[ -n ${PMEM_SOCK-} && ! -S $PMEM_SOCK ]]; then
    unset PMEM_ACTIVE PMEM_SOCK PMEM_TOKEN PMEM_HOOKED
fi

function pmem {
    case ${1-} in
        (on) shift && __pmem_on "$@" ;;
        (off) shift && __pmem_off "$@" ;;
        (*) command pmem "$@" ;;
    esac
}

function __pmem_say { builtin printf 'pmem: %s\n' "$1" >&2 }

# __pmem_on [OPTION…]: goes on in a recorded shell, with what is defined here and not in an rc file.
function __pmem_on {
    if [[ -n ${__pmem_loaded-} ]]; then
        __pmem_say 'it is on'
        return 0
    elif [[ -n ${PMEM_ACTIVE-} ]]; then
        __pmem_say 'it is on around this shell, which is one step of that one: leave it first'
        return 1
    fi
    local dir code back=
    dir=$(command mktemp -d "${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}/pmem-on.XXXXXX") || return
    __pmem_state >|"$dir/state"
    [[ -z ${HISTFILE-} ]] || builtin fc -AI 2>/dev/null
    PMEM_BACK=$dir command pmem shell --shell "${commands[zsh]:-zsh}" "$@"
    code=$?
    [[ -z ${HISTFILE-} ]] || builtin fc -RI 2>/dev/null
    [[ ! -r $dir/cwd ]] || IFS= builtin read -r -d '' back <"$dir/cwd" || :
    command rm -rf -- "$dir"
    [[ -z $back ]] || builtin cd -- "$back"
    return $code
}

# Leaves the recorded shell, to the directory where it is.
function __pmem_off {
    if [[ -z ${__pmem_loaded-} ]]; then
        [[ -z ${PMEM_ACTIVE-} ]] && __pmem_say 'it is off' && return
        __pmem_say 'it is on around this shell, not in it: leave this one first'
        return 1
    elif (( ${#jobstates} )); then
        __pmem_say 'jobs are left here that would end with this shell; see jobs, or leave by exit'
        return 1
    fi
    [[ -z ${__pmem_back-} ]] || builtin printf '%s' "$PWD" >|"$__pmem_back/cwd"
    builtin exit 0
}

# Aliases, functions and variables, each as a line that defines it where it is missing. What is
# exported comes by itself; names with an underscore in front are the machinery of some tool.
function __pmem_state {
    emulate -L zsh
    local __pmem_r
    for __pmem_r in ${(k)aliases}; do
        builtin print -r -- "(( \$+aliases[${(q)__pmem_r}] )) ||" \
            "aliases[${(q)__pmem_r}]=${(qq)aliases[$__pmem_r]}"
    done
    for __pmem_r in ${(k)functions}; do
        [[ $__pmem_r != _* && $__pmem_r != pmem ]] || continue
        [[ ${functions[$__pmem_r]} != 'builtin autoload '* ]] || continue
        builtin print -r -- "(( \$+functions[${(q)__pmem_r}] )) ||" \
            "functions[${(q)__pmem_r}]=${(qq)functions[$__pmem_r]}"
    done
    for __pmem_r in ${(k)parameters}; do
        [[ $__pmem_r != __* && $__pmem_r == [[:alpha:]_]* ]] || continue
        [[ ${parameters[$__pmem_r]} != *(export|readonly|special|hide|local|tied)* ]] || continue
        builtin print -rn -- "(( \$+parameters[$__pmem_r] )) || "
        builtin typeset -p -- $__pmem_r
    done
}

# click's own completion, fetched when it is first asked for.
function __pmem_complete {
    builtin eval "$(_PMEM_COMPLETE=zsh_source command pmem 2>/dev/null)"
    (( ! $+functions[_pmem_completion] )) || _pmem_completion "$@"
}

# The completion system may start only after this line: then at the first prompt.
function __pmem_complete_begin {
    local code=$?
    emulate -L zsh
    precmd_functions=(${(@)precmd_functions:#__pmem_complete_begin})
    if (( $+functions[compdef] )); then
        compdef __pmem_complete pmem
    elif [[ ${1-} == now ]]; then
        precmd_functions+=(__pmem_complete_begin)
    fi
    return $code
}
typeset -ga precmd_functions
__pmem_complete_begin now

fi
