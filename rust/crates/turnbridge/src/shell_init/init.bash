# Turnbridge for bash (3.2 or newer): tells when an agent starts in this pane and when the prompt is
# back, and where the shell is (OSC 7). Put this at the end of ~/.bashrc:
#
#   eval "$(turnbridge shell-init bash)"
#
# A prompt starts no process unless an agent ran before it.

case $- in *i*)

__turnbridge_program=@TURNBRIDGE@
__turnbridge_launched=${__turnbridge_launched-}
__turnbridge_folder='' __turnbridge_uri=''

# Called by the DEBUG trap, before every command: it costs a comparison, and no process. It leaves
# `$?` to a trap that the user had before.
__turnbridge_debug() {
  local turnbridge_status=$?
  if [ -z "${COMP_LINE-}" ]; then
    local words=" ${BASH_COMMAND//[;&|()\/]/ } "
    case $words in
      *' codex '* | *' claude '* | *' codex.exe '* | *' claude.exe '*)
        if "$__turnbridge_program" pane launch --line "$BASH_COMMAND" </dev/null >/dev/null 2>&1; then
          __turnbridge_launched=1
        fi
        ;;
    esac
  fi
  if [ -n "${__turnbridge_is_first-}" ]; then return "$turnbridge_status"; fi
  return 0
}

__turnbridge_prompt() {
  local turnbridge_status=$?
  if [ -n "$__turnbridge_launched" ]; then
    __turnbridge_launched=''
    "$__turnbridge_program" pane prompt </dev/null >/dev/null 2>&1
  fi
  case ${TERM-} in
    dumb | linux | '') ;;
    *)
      if [ -t 1 ]; then
        if [ "$PWD" != "$__turnbridge_folder" ]; then __turnbridge_encode; fi
        printf '\033]7;file://%s%s\033\\' "${HOSTNAME-}" "$__turnbridge_uri"
      fi
      ;;
  esac
  return "$turnbridge_status"
}

# Percent-encodes the folder, byte by byte.
__turnbridge_encode() {
  local LC_ALL=C byte number index uri='' hex
  for ((index = 0; index < ${#PWD}; index++)); do
    byte=${PWD:index:1}
    case $byte in
      [A-Za-z0-9/._~-]) uri+=$byte ;;
      *)
        printf -v number '%d' "'$byte"
        printf -v hex '%%%02X' "$((number & 255))"
        uri+=$hex
        ;;
    esac
  done
  __turnbridge_folder=$PWD
  __turnbridge_uri=$uri
}

# The terminal has gone while an agent ran.
__turnbridge_exit() {
  local turnbridge_status=$?
  if [ -n "$__turnbridge_launched" ]; then
    __turnbridge_launched=''
    "$__turnbridge_program" pane close </dev/null >/dev/null 2>&1
  fi
  return "$turnbridge_status"
}

# Gives what a trap of the user's does, as `trap -p` prints it.
__turnbridge_trapped() {
  local turnbridge_trap
  turnbridge_trap=$(trap -p "$1")
  if [ -n "$turnbridge_trap" ]; then
    eval "set -- $turnbridge_trap"
    printf '%s' "$3"
  fi
}

__turnbridge_install() {
  local before
  before=$(__turnbridge_trapped DEBUG)
  case $before in
    *__turnbridge_debug*) ;;
    '') trap '__turnbridge_debug "$_"' DEBUG ;;
    *)
      __turnbridge_is_first=1
      # The new line is for a trap that ends in a comment.
      trap '__turnbridge_debug "$_"
'"$before" DEBUG
      ;;
  esac
  # A list since bash 5.1. Ours first, so that it sees the status of the user's command.
  case $(declare -p PROMPT_COMMAND 2>/dev/null) in
    *__turnbridge_prompt*) ;;
    'declare -a'*) PROMPT_COMMAND=(__turnbridge_prompt "${PROMPT_COMMAND[@]}") ;;
    *) PROMPT_COMMAND="__turnbridge_prompt${PROMPT_COMMAND:+
$PROMPT_COMMAND}" ;;
  esac
  if [ -z "$(__turnbridge_trapped EXIT)" ]; then trap __turnbridge_exit EXIT; fi
}

__turnbridge_install
;;
esac
