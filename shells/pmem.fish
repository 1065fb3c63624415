# pmem.fish: tells pmem where each command of an interactive fish starts and ends.
#
# Run by --init-command, after the user's own config.fish, with this set (and never exported):
#   __pmem_nonce  what makes a mark one of ours
#   __pmem_program, __pmem_agents   how pmem is called, and the names of the agents it knows
#
# Prompts are never touched. fish runs a command whatever a preexec handler does, so there is
# no waiting here: a banner stands before the output.

if not status is-interactive; or not set -q __pmem_nonce; or set -q __pmem_loaded
    exit
end
set -g __pmem_loaded 1
set -g __pmem_number 0
set -g __pmem_back $PMEM_BACK
set -e PMEM_BACK
if test -n "$__pmem_back" # what `pmem on` hands over
    function fish_greeting # it was shown here already
    end
    source $__pmem_back/state 2>/dev/null
    command rm -f -- $__pmem_back/state
end

# __pmem_mark KIND[;FIELD…]
function __pmem_mark
    printf '\033]6973;%s;%s;%s\007' $__pmem_nonce $fish_pid $argv[1] >/dev/tty
end

function __pmem_entered --on-event fish_preexec
    set -l cwd (string escape --style=url -- $PWD)
    set -g __pmem_number (math $__pmem_number + 1)
    set -g __pmem_running 1
    if test -n "$fish_private_mode"; or string match -qr '^\s' -- "$argv[1]"
        __pmem_mark "P;$__pmem_number;$cwd"
    else
        set -l command (string join -- \n $argv[1] | string collect | string escape --style=url)
        __pmem_mark "C;$__pmem_number;$cwd;$command"
    end
end

function __pmem_ended --on-event fish_postexec
    set -l code $status
    set -l pipe $pipestatus
    set -q __pmem_running; or return
    set -e __pmem_running
    __pmem_mark "D;$code;"(string escape --style=url -- $PWD)";$pipe"
end

# A known agent is a function as long as its program is on PATH and no function of the user's has
# its name; `command claude` goes round it.
function __pmem_offer_agents
    for name in $__pmem_agents
        if contains -- $name $__pmem_offered
            command -q $name; and continue
            set -e __pmem_offered[(contains --index -- $name $__pmem_offered)]
            string match -q '*__pmem_guest*' (functions -- $name); and functions -e $name
        else if command -q $name; and not functions -q $name
            eval "function $name; \$__pmem_guest $name \$argv; end"
            set -ga __pmem_offered $name
        end
    end
end

# What runs an agent as a guest of this session: NAME ARG… follow, also where jobs are listed.
set -g __pmem_guest env PMEM_TYPED=1 $__pmem_program run

function __pmem_prompt --on-event fish_prompt
    __pmem_offer_agents
    __pmem_mark A
end

__pmem_mark "I;"
