# Turnbridge for zsh: tells when an agent starts in this pane and when the prompt is back, and where
# the shell is (OSC 7). Put this at the end of ~/.zshrc:
#
#   eval "$(turnbridge shell-init zsh)"
#
# A prompt starts no process unless an agent ran before it.

if [[ -o interactive ]]; then

typeset -g __turnbridge_program=@TURNBRIDGE@
typeset -g __turnbridge_launched=${__turnbridge_launched-}
typeset -g __turnbridge_folder= __turnbridge_uri=

# The third argument is the line with its aliases expanded.
__turnbridge_preexec() {
  emulate -L zsh
  local line=${3:-${1-}}
  local words=" ${line//[;&|()\/$'\t\n']/ } "
  if [[ $words == *' '(claude|codex)(|.exe)' '* ]] &&
    command "$__turnbridge_program" pane launch --line "$line" </dev/null >/dev/null 2>&1; then
    __turnbridge_launched=1
  fi
  return 0
}

__turnbridge_precmd() {
  local -i turnbridge_status=$?
  emulate -L zsh
  if [[ -n $__turnbridge_launched ]]; then
    __turnbridge_launched=
    command "$__turnbridge_program" pane prompt </dev/null >/dev/null 2>&1
  fi
  if [[ -t 1 && ${TERM-} != (dumb|linux) ]]; then
    [[ $PWD == "$__turnbridge_folder" ]] || __turnbridge_encode
    print -rn -- $'\e]7;file://'"${HOST-}$__turnbridge_uri"$'\e\\'
  fi
  return $turnbridge_status
}

# Percent-encodes the folder, byte by byte.
__turnbridge_encode() {
  emulate -L zsh
  setopt no_multibyte
  local byte hex uri=
  for byte in ${(s::)PWD}; do
    if [[ $byte == [A-Za-z0-9/._~-] ]]; then
      uri+=$byte
    else
      printf -v hex '%%%02X' $(( #byte & 255 ))
      uri+=$hex
    fi
  done
  __turnbridge_folder=$PWD
  __turnbridge_uri=$uri
}

# The terminal has gone while an agent ran.
__turnbridge_exit() {
  if [[ -n $__turnbridge_launched ]]; then
    __turnbridge_launched=
    command "$__turnbridge_program" pane close </dev/null >/dev/null 2>&1
  fi
}

# Ours first, so that it sees the status of the user's command; each once.
typeset -ga preexec_functions precmd_functions zshexit_functions
preexec_functions=(__turnbridge_preexec ${preexec_functions:#__turnbridge_preexec})
precmd_functions=(__turnbridge_precmd ${precmd_functions:#__turnbridge_precmd})
zshexit_functions=(__turnbridge_exit ${zshexit_functions:#__turnbridge_exit})

fi
