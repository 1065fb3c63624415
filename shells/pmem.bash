# pmem.bash: tells pmem where each command of an interactive bash starts and ends.
#
# Sourced after the user's own rc files, with these set (and never exported):
#   __pmem_nonce  what makes a mark one of ours
#   __pmem_dir    the session's private directory
#   __pmem_gate   a fifo to wait on before a command runs, empty for none
#   __pmem_program, __pmem_agents   how pmem is called, and the names of the agents it knows
#
# PS1 is never touched. PS0 and PROMPT_COMMAND are added to, not replaced; `$?`, `$_` and
# PIPESTATUS are what they would be. bash >= 4.4 tells a command by PS0; older ones (macOS has
# 3.2) by a DEBUG trap, which is there only from a prompt to the first command after it.

[[ $- == *i* && -n ${__pmem_nonce-} && -z ${__pmem_loaded-} ]] || return 0
__pmem_loaded=1

# What `pmem on` hands over from the shell in which it was said. Its functions are written out
# already: an alias in force here must not change them.
__pmem_back=${PMEM_BACK-}
unset PMEM_BACK
if [[ -n $__pmem_back ]]; then
    __pmem_r=$(shopt -p expand_aliases)
    shopt -u expand_aliases
    . "$__pmem_back/state" 2>/dev/null
    eval "$__pmem_r"
    command rm -f -- "$__pmem_back/state"
fi

# Whether PATH has a program, whatever bash remembers of it.
__pmem_on_path() {
    local IFS=: directory
    for directory in $PATH; do
        [[ -x ${directory:-.}/$1 && -f ${directory:-.}/$1 ]] && return 0
    done
    return 1
}

# A known agent is a function as long as its program is on PATH and no alias or function of the
# user's has its name; `command claude` goes round it.
__pmem_offer_agents() {
    local name
    for name in ${__pmem_agents[@]+"${__pmem_agents[@]}"}; do
        if [[ " ${__pmem_offered-} " == *" $name "* ]]; then
            __pmem_on_path "$name" && continue
            __pmem_offered=${__pmem_offered/ $name/}
            [[ $(builtin declare -f "$name") != *__pmem_guest* ]] || builtin unset -f "$name"
        elif __pmem_on_path "$name" && ! builtin alias "$name" && ! builtin declare -F "$name"; then
            builtin eval "function $name { \"\${__pmem_guest[@]}\" $name \"\$@\"; }"
            __pmem_offered+=" $name"
        fi
    done >/dev/null 2>&1
}

# What runs an agent as a guest of this session: NAME ARG… follow, also where jobs are listed.
__pmem_guest=(env PMEM_TYPED=1 ${__pmem_program[@]+"${__pmem_program[@]}"} run)

# __pmem_mark KIND[;FIELD…]
__pmem_mark() {
    builtin printf '\033]6973;%s;%s;%s\007' "$__pmem_nonce" "$$" "$1" >/dev/tty
}

# __pmem_escape TEXT: sets __pmem_r to TEXT as a field of a mark.
__pmem_escape() {
    local LC_ALL=C
    __pmem_r=$1
    __pmem_r=${__pmem_r//'%'/%25}
    __pmem_r=${__pmem_r//';'/%3B}
    __pmem_r=${__pmem_r//$'\n'/%0A}
    __pmem_r=${__pmem_r//$'\r'/%0D}
    __pmem_r=${__pmem_r//$'\t'/%09}
    __pmem_r=${__pmem_r//$'\033'/%1B}
    __pmem_r=${__pmem_r//$'\007'/%07}
}

# Sets __pmem_r to the newest line of the history, without its number.
__pmem_newest() {
    __pmem_r=$(HISTTIMEFORMAT='' builtin history 1)
    __pmem_r=${__pmem_r#"${__pmem_r%%[0-9]*}"}
    __pmem_r=${__pmem_r#"${__pmem_r%%[!0-9]*}"}
    __pmem_r=${__pmem_r:2}
}

# __pmem_entered NUMBER HOW: tells that a command was entered and waits for leave to run it.
# HOW is `open` (the newest line of the history is the command) or `private`.
__pmem_entered() {
    local cwd command
    __pmem_escape "$PWD"
    cwd=$__pmem_r
    if [[ $2 == private ]]; then
        __pmem_mark "P;$1;$cwd"
        return 0
    fi
    __pmem_newest
    if [[ -z $__pmem_r || (-n ${__bp_ignorespace-} && $__pmem_r == [[:blank:]]*) ]]; then
        # bash-preexec saves lines that begin with a blank and takes them out of the history
        # itself; an empty history says that the first line was not saved.
        __pmem_mark "P;$1;$cwd"
        return 0
    fi
    __pmem_escape "$__pmem_r"
    command=$__pmem_r
    __pmem_mark "C;$1;$cwd;$command"
    [[ -z ${__pmem_gate-} ]] || __pmem_wait "$1"
}

# __pmem_wait NUMBER: pmem answers `NUMBER run`, or `NUMBER hold` and later `NUMBER run`.
# ctrl-C meanwhile drops the command. Opened for reading and writing, a fifo never blocks.
__pmem_wait() {
    local number word
    while IFS=' ' builtin read -r -t 0.05 number word; do
        [[ $number == "$1" ]] || continue
        [[ $word == hold ]] || return 0
        while IFS=' ' builtin read -r number word; do
            [[ $number != "$1" || $word == hold ]] || return 0
        done
    done <>"$__pmem_gate"
    __pmem_mark "R;$1" # nobody answered
    return 0
}

# What an unsaved line is, by the user's own history settings: `private`, `repeat` (the newest
# line once more) or `ask` (it can be either).
__pmem_judge_unsaved() {
    local space='' repeat=''
    case :${HISTCONTROL-}: in *:ignorespace:* | *:ignoreboth:*) space=1 ;; esac
    case :${HISTCONTROL-}: in *:ignoredups:* | *:ignoreboth:* | *:erasedups:*) repeat=1 ;; esac
    if [[ ! -o history ]]; then
        __pmem_unsaved=private
    elif [[ -n $repeat && -z $space && -z ${HISTIGNORE-} ]]; then
        __pmem_unsaved=repeat
    elif [[ -n $repeat || -n ${HISTIGNORE-} ]]; then
        __pmem_unsaved=ask
    else
        __pmem_unsaved=private
    fi
}

# __pmem_ps0 HISTORY_NUMBER COMMAND_NUMBER, in the subshell that PS0 makes.
__pmem_ps0() {
    if [[ $1 != "${__pmem_history-}" || ${__pmem_unsaved-} == repeat ]]; then
        __pmem_entered "$2" open
    elif [[ ${__pmem_unsaved-} == private ]]; then
        __pmem_entered "$2" private
    fi
}

# Whether BASH_COMMAND, the first simple command of a line, begins the newest history line.
__pmem_is_newest() {
    local line first word before=''
    __pmem_newest
    line=$__pmem_r
    if ((BASH_VERSINFO[0] >= 4)); then
        word=${line%%[[:space:];|&<>()]*}
        while [[ -n $word && -n ${BASH_ALIASES[$word]-} && $before != *" $word "* ]]; do
            before+=" $word "
            line=${BASH_ALIASES[$word]}${line#"$word"}
            word=${line%%[[:space:];|&<>()]*}
        done
    fi
    first=${BASH_COMMAND//[[:space:]]/}
    line=${line//[[:space:]]/}
    case $line in
        "$first") return 0 ;;
        "$first"['|&;'$'\n']*) return 0 ;;
    esac
    return 1
}

# In the DEBUG trap: true once it has seen the first command after a prompt.
__pmem_debug() {
    [[ -z ${COMP_LINE-} ]] || return 1 # a completion runs
    [[ $BASH_COMMAND != *__pmem_* ]] || return 1 # the prompt's own, after a dropped command
    if [[ -n ${__pmem_old-} ]]; then
        [[ -n ${__pmem_at_prompt-} ]] || return 1
        __pmem_at_prompt='' __pmem_seen=$((__pmem_seen + 1))
    fi
    __pmem_number
    [[ $__pmem_r != "${__pmem_command-}" ]] || return 1
    local number=$__pmem_r saved=''
    __pmem_history_number
    [[ $__pmem_r == "${__pmem_history-}" ]] || saved=1
    if [[ -n $saved ]]; then
        [[ -z ${__pmem_old-} ]] || __pmem_entered "$number" open
    elif [[ $__pmem_unsaved == ask || -n ${__pmem_old-} ]]; then
        if [[ $__pmem_unsaved == repeat ]] || __pmem_is_newest; then
            __pmem_entered "$number" open
        else
            __pmem_entered "$number" private
        fi
    fi
    return 0
}

# The first thing at a prompt: the command before it ended.
__pmem_first() {
    local code=$? pipe=("${PIPESTATUS[@]}") IFS=' '
    [[ -z ${BP_PIPESTATUS+set} ]] || pipe=("${BP_PIPESTATUS[@]}")
    __pmem_number
    if [[ $__pmem_r != "${__pmem_command-}" ]]; then
        __pmem_command=$__pmem_r
        __pmem_escape "$PWD"
        __pmem_mark "D;$code;$__pmem_r;${pipe[*]}"
    fi
    [[ -n ${__pmem_keeps_status-} ]] || return "$code"
}

# The last thing before the prompt is drawn.
__pmem_last() {
    local IFS=' '
    __pmem_history_number
    __pmem_history=$__pmem_r
    if [[ $__pmem_history == 1 ]]; then
        # An empty history has the number 1 before its first line and after it.
        __pmem_newest
        [[ -n $__pmem_r ]] || __pmem_history=''
    fi
    __pmem_judge_unsaved
    __pmem_offer_agents
    __pmem_install
    __pmem_mark A
}

# Run at the top level (a function would not see the user's trap): sets our DEBUG trap in front
# of the user's own, which is put back before the first command runs.
__pmem_arm='
if [[ ${__pmem_unsaved-} == ask || -n ${__pmem_old-} ]]; then
    builtin trap -p DEBUG >|"$__pmem_dir/debug"
    IFS= builtin read -r -d "" __pmem_trap <"$__pmem_dir/debug" || :
    if [[ $__pmem_trap != *__pmem_debug* ]]; then
        builtin trap - DEBUG
        __pmem_chain "$__pmem_trap"
        builtin trap -- "$__pmem_r" DEBUG
    fi
fi'

# __pmem_chain TRAP: from what `trap -p` says, sets __pmem_r to our trap with it behind.
__pmem_chain() {
    local body='' restore='builtin trap - DEBUG'
    if [[ -n $1 ]]; then
        eval "set -- $1"
        body=$3
        [[ $body != - ]] || body='' # how `trap -p` tells of none in posix mode
    fi
    if [[ -n $body ]]; then
        builtin printf -v restore 'builtin trap -- %q DEBUG' "$body"
    fi
    __pmem_r='__pmem_argument=$_; if { __pmem_debug; } 2>/dev/null; then '
    __pmem_r+="$restore"'; fi; : "$__pmem_argument"'
    [[ -z $body ]] || __pmem_r+=$'\n'$body
}

# The version decides how a command is told; set beforehand, it makes a newer bash act as older.
: "${__pmem_version:=$((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))}"

if ((__pmem_version >= 404)) && shopt -q promptvars; then
    # Expanding a prompt escape tells the numbers without a fork.
    eval '
    __pmem_number() { __pmem_r="\\#"; __pmem_r=${__pmem_r@P}; }
    __pmem_history_number() { __pmem_r="\\!"; __pmem_r=${__pmem_r@P}; }'
    __pmem_install_ps0() {
        case ${PS0-} in
            *__pmem_ps0*) ;;
            *) PS0=${PS0-}'$({ __pmem_ps0 \! \#; } 2>/dev/null)' ;;
        esac
    }
else
    __pmem_old=1
    ((BASH_VERSINFO[0] >= 4)) || __pmem_gate='' # read -t takes no fractions there
    __pmem_seen=0
    __pmem_history_number() {
        __pmem_r=$(HISTTIMEFORMAT='' builtin history 1)
        __pmem_r=${__pmem_r#"${__pmem_r%%[0-9]*}"}
        __pmem_r=${__pmem_r%%[!0-9]*}
    }
    # There is no command number: a counter that the DEBUG trap moves on stands for it.
    __pmem_number() { __pmem_r=$__pmem_seen; }
    __pmem_install_ps0() { :; }
fi

# From 5.1 on PROMPT_COMMAND can be an array, each of whose elements finds `$?` and PIPESTATUS
# as they were. Before, our first hook returns `$?`, in a way that sets off no ERR trap.
((__pmem_version < 501)) || __pmem_keeps_status=1

# Puts our hooks where they were, if something has thrown them out.
__pmem_install() {
    local first='{ __pmem_first; } 2>/dev/null'
    local last='{ __pmem_last; eval "$__pmem_arm"; __pmem_at_prompt=1; } 2>/dev/null'
    __pmem_install_ps0
    if [[ -n ${__bp_imported-}${bash_preexec_imported-} ]]; then
        # bash-preexec takes whatever comes after its own prompt command for a command.
        __pmem_keeps_status=''
        case " ${precmd_functions[*]-} " in
            *' __pmem_first '*' __pmem_last '*) ;;
            *)
                precmd_functions=(
                    __pmem_first ${precmd_functions[@]+"${precmd_functions[@]}"} __pmem_last
                )
                ;;
        esac
    elif [[ -n ${__pmem_keeps_status-} ]]; then
        case "${PROMPT_COMMAND[*]-}" in
            *__pmem_first*) ;;
            *) PROMPT_COMMAND=("$first" ${PROMPT_COMMAND[@]+"${PROMPT_COMMAND[@]}"}) ;;
        esac
        case "${PROMPT_COMMAND[*]-}" in
            *__pmem_last*) ;;
            *) PROMPT_COMMAND+=("$last") ;;
        esac
    else
        case ${PROMPT_COMMAND-} in
            *__pmem_first*) ;;
            *) PROMPT_COMMAND="$first && :"$'\n'${PROMPT_COMMAND-} ;;
        esac
        case ${PROMPT_COMMAND-} in
            *__pmem_last*) ;;
            *) PROMPT_COMMAND=${PROMPT_COMMAND%$'\n'}$'\n'$last ;;
        esac
    fi
}

__pmem_number
__pmem_command=$__pmem_r
__pmem_install
__pmem_escape "${__pmem_gate-}"
__pmem_mark "I;$__pmem_r"
