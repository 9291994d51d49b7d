# Turnbridge for fish: tells when an agent starts in this pane and when the prompt is back, and where
# the shell is (OSC 7). Put this at the end of ~/.config/fish/config.fish:
#
#   turnbridge shell-init fish | source
#
# A prompt starts no process unless an agent ran before it.

if status is-interactive

set -g __turnbridge_program @TURNBRIDGE@

function __turnbridge_preexec --on-event fish_preexec
    string match -qr '(^|[\s;&|(/])(claude|codex)(\.exe)?($|[\s;&|)])' -- "$argv"; or return 0
    if command $__turnbridge_program pane launch --line "$argv" </dev/null >/dev/null 2>&1
        set -g __turnbridge_launched 1
    end
end

# fish gives `$status` back after an event.
function __turnbridge_prompt --on-event fish_prompt
    if set -q __turnbridge_launched
        set -e -g __turnbridge_launched
        command $__turnbridge_program pane prompt </dev/null >/dev/null 2>&1
    end
    if isatty stdout; and not contains -- "$TERM" dumb linux ''
        printf '\e]7;file://%s%s\e\\' "$hostname" (string escape --style=url -- $PWD)
    end
end

# The terminal has gone while an agent ran.
function __turnbridge_exit --on-event fish_exit
    if set -q __turnbridge_launched
        set -e -g __turnbridge_launched
        command $__turnbridge_program pane close </dev/null >/dev/null 2>&1
    end
end

end
