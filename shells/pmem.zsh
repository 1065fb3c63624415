# pmem.zsh: tells pmem where each command of an interactive zsh starts and ends.
#
# Sourced from .zshenv, so before the user's own .zshrc, with these set (and never exported):
#   __pmem_nonce  what makes a mark one of ours
#   __pmem_gate   a fifo to wait on before a command runs, empty for none
#   __pmem_program, __pmem_agents   how pmem is called, and the names of the agents it knows
#   __pmem_shells   the directory of this file
#
# The hooks are put in place at the first prompt, after every rc file has had its say. Prompts
# are never touched; `$?` and pipestatus are what they would be.

[[ -o interactive && -n ${__pmem_nonce-} && -z ${__pmem_loaded-} ]] || return 0
typeset -g __pmem_loaded=1 __pmem_number=0 __pmem_running= __pmem_back=${PMEM_BACK-}
unset PMEM_BACK

# __pmem_mark KIND[;FIELD…]
__pmem_mark() {
    builtin printf '\033]6973;%s;%s;%s\007' "$__pmem_nonce" "$$" "$1" >"$TTY"
}

# __pmem_escape TEXT: sets REPLY to TEXT as a field of a mark.
__pmem_escape() {
    emulate -L zsh
    setopt no_multibyte
    REPLY=${1//\%/%25}
    REPLY=${REPLY//;/%3B}
    REPLY=${REPLY//$'\n'/%0A}
    REPLY=${REPLY//$'\r'/%0D}
    REPLY=${REPLY//$'\t'/%09}
    REPLY=${REPLY//$'\033'/%1B}
    REPLY=${REPLY//$'\007'/%07}
}

# __pmem_is_private LINE: whether the user's settings keep this line out of the history.
__pmem_is_private() {
    local space=${options[hist_ignore_space]}
    emulate -L zsh
    [[ $space == on && $1 == [[:blank:]]* ]] && return 0
    [[ -n ${HISTORY_IGNORE-} && ${1%$'\n'} == ${~HISTORY_IGNORE} ]] && return 0
    return 1
}

# A command was entered: $1 is the line as it was typed, empty where there is no history.
__pmem_preexec() {
    local private=
    __pmem_is_private "$1" && private=1
    emulate -L zsh
    local REPLY cwd
    (( __pmem_number += 1 ))
    __pmem_running=
    __pmem_escape "$PWD"
    cwd=$REPLY
    if [[ -n $private || -z $1 ]]; then
        __pmem_mark "P;$__pmem_number;$cwd"
        __pmem_running=1
        return 0
    fi
    __pmem_escape "$1"
    __pmem_mark "C;$__pmem_number;$cwd;$REPLY"
    [[ -z $__pmem_gate ]] || __pmem_wait $__pmem_number
    __pmem_running=1 # not reached if ctrl-C drops the command while it waits
}

# __pmem_wait NUMBER: pmem answers `NUMBER run`, or `NUMBER hold` and later `NUMBER run`.
# ctrl-C meanwhile drops the command. Opened for reading and writing, a fifo never blocks.
__pmem_wait() {
    local number word fd
    exec {fd}<>"$__pmem_gate" || return 0
    {
        while IFS=' ' builtin read -r -t 0.05 -u $fd number word; do
            [[ $number == $1 ]] || continue
            [[ $word == hold ]] || return 0
            while IFS=' ' builtin read -r -u $fd number word; do
                [[ $number != $1 || $word == hold ]] || return 0
            done
        done
        __pmem_mark "R;$1" # nobody answered
    } always {
        exec {fd}>&-
        (( ! TRY_BLOCK_INTERRUPT )) || builtin print >"$TTY" # below the ^C, as after a command
    }
}

# The first thing at a prompt: the command before it ended.
__pmem_first() {
    local code=$? pipe="${(j: :)pipestatus}"
    emulate -L zsh
    if [[ -n $__pmem_running ]]; then
        __pmem_running=
        local REPLY
        __pmem_escape "$PWD"
        __pmem_mark "D;$code;$REPLY;$pipe"
    fi
    return $code
}

# The last thing before the prompt is drawn.
__pmem_last() {
    local code=$?
    emulate -L zsh
    __pmem_offer_agents
    __pmem_install
    __pmem_mark A
    return $code
}

# Puts our hooks first and last, if something has thrown them out or come between.
__pmem_install() {
    emulate -L zsh
    typeset -ga precmd_functions preexec_functions
    if [[ ${precmd_functions[1]-} != __pmem_first || ${precmd_functions[-1]-} != __pmem_last ]]; then
        precmd_functions=(__pmem_first ${(@)precmd_functions:#__pmem_*} __pmem_last)
    fi
    if [[ ${preexec_functions[-1]-} != __pmem_preexec ]]; then
        preexec_functions=(${(@)preexec_functions:#__pmem_*} __pmem_preexec)
    fi
}

# A known agent is a function as long as its program is on PATH and no alias or function of the
# user's has its name; `command claude` goes round it.
__pmem_offer_agents() {
    emulate -L zsh
    local name
    for name in $__pmem_agents; do
        if [[ ${functions[$name]-} == *__pmem_guest* ]]; then
            builtin whence -p -- $name >/dev/null || unset "functions[$name]"
        elif (( ! $+functions[$name] && ! $+aliases[$name] )); then
            ! builtin whence -p -- $name >/dev/null || functions[$name]="\"\${__pmem_guest[@]}\" $name \"\$@\""
        fi
    done
}

# What runs an agent as a guest of this session: NAME ARG… follow, also where jobs are listed.
typeset -ga __pmem_guest=(env PMEM_TYPED=1 ${__pmem_program[@]-} run)

# At the first prompt only.
__pmem_begin() {
    local code=$?
    emulate -L zsh
    precmd_functions=(${(@)precmd_functions:#__pmem_begin})
    (( $+functions[pmem] )) || source $__pmem_shells/init.zsh
    if [[ -n $__pmem_back ]]; then # what `pmem on` hands over
        source $__pmem_back/state 2>/dev/null
        command rm -f -- $__pmem_back/state
    fi
    __pmem_offer_agents
    __pmem_install
    local REPLY
    __pmem_escape "$__pmem_gate"
    __pmem_mark "I;$REPLY"
    return $code
}

typeset -ga precmd_functions
precmd_functions+=(__pmem_begin)
