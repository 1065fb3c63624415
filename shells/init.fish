# What `pmem init fish` prints, for an interactive fish: `pmem on`, `pmem off`, completion.
#
# Nothing runs here but definitions. Read twice, it does the same as read once; with pmem removed
# it leaves a function that says "Unknown command" as the shell itself would.

if status is-interactive

# A tmux that was started under pmem outlives the session, with its variables.
if set -q PMEM_SOCK; and not test -S "$PMEM_SOCK"
    set -e PMEM_ACTIVE PMEM_SOCK PMEM_TOKEN PMEM_HOOKED
end

function pmem
    switch "$argv[1]"
        case on
            __pmem_on $argv[2..]
        case off
            __pmem_off
        case '*'
            command pmem $argv
    end
end

function __pmem_say
    echo "pmem: $argv" >&2
end

# __pmem_on [OPTION…]: goes on in a recorded shell, with what is defined here and not in config.fish.
function __pmem_on
    if set -q __pmem_loaded
        __pmem_say 'it is on'
        return 0
    else if set -q PMEM_ACTIVE
        __pmem_say 'it is on around this shell, which is one step of that one: leave it first'
        return 1
    end
    set -l place /tmp
    test -n "$TMPDIR"; and set place $TMPDIR
    test -n "$XDG_RUNTIME_DIR"; and set place $XDG_RUNTIME_DIR
    set -l dir (command mktemp -d $place/pmem-on.XXXXXX)
    or return
    __pmem_state >$dir/state
    builtin history save
    PMEM_BACK=$dir command pmem shell --shell (status fish-path) $argv
    set -l code $status
    builtin history merge
    set -l back
    test -r $dir/cwd; and set back (string collect <$dir/cwd)
    command rm -rf -- $dir
    test -z "$back"; or cd -- $back
    return $code
end

# Leaves the recorded shell, to the directory where it is.
function __pmem_off
    if not set -q __pmem_loaded
        if not set -q PMEM_ACTIVE
            __pmem_say 'it is off'
            return 0
        end
        __pmem_say 'it is on around this shell, not in it: leave this one first'
        return 1
    else if jobs -q
        __pmem_say 'jobs are left here that would end with this shell; see jobs, or leave by exit'
        return 1
    end
    test -z "$__pmem_back"; or printf '%s' $PWD >$__pmem_back/cwd
    set -e __pmem_running # this is no step
    exit 0
end

# Functions and variables, each as lines that define it where it is missing. What is exported comes
# by itself; names with two underscores in front are the machinery of some tool.
function __pmem_state
    for name in (functions --all --names | string match --invert --regex '^(__|pmem$|fish_)')
        test (functions --details -- $name) = stdin; or continue
        echo "functions -q "(string escape -- $name)"; or begin"
        functions --no-details -- $name
        echo end
    end
    for name in (set --names --global | string match --invert --regex '^(__|fish_)')
        set -qx $name; and continue
        echo "set -q $name; or set -g $name" (string escape -- $$name | string join ' ')
    end
end

# click's completion: it answers in lines of `type,value<tab>description`.
function __pmem_complete
    set -lx COMP_WORDS (commandline -cp | string collect)
    set -lx COMP_CWORD (commandline -t | string collect)
    for line in (_PMEM_COMPLETE=fish_complete command pmem 2>/dev/null)
        set -l parts (string split --max 1 , -- $line)
        switch $parts[1]
            case plain
                echo $parts[2]
            case file
                __fish_complete_path (commandline -t)
            case dir
                __fish_complete_directories (commandline -t)
        end
    end
end
complete --erase --command pmem
complete --command pmem --no-files --arguments '(__pmem_complete)'

end
