#!/bin/sh
# The soak's stand-in for Claude Code; agents.rs says what a prompt can ask for.
session= prompt=
while [ $# -gt 0 ]; do
  case "$1" in
    -r | --session-id) session=$2; shift 2 ;;
    --permission-mode) shift 2 ;;
    -*) shift ;;
    *) prompt=$1; shift ;;
  esac
done
[ -n "$prompt" ] || prompt=$(cat)
name=${prompt%%,*}
words=" ${prompt#*, } "
read -r prompt_id < /proc/sys/kernel/random/uuid
transcript="@PROJECTS@/$session.jsonl"

note() { printf '%s|%s|%s\n' "$(date +%s%6N)" "$name" "$1" >> '@LOG@'; }

# Prints what stands behind `$1=` in the prompt.
word() {
  case "$words" in
    *" $1="*) rest=${words#*" $1="}; printf '%s' "${rest%% *}" ;;
  esac
}

has() { case "$words" in *" $1 "*) true ;; *) false ;; esac; }

# Calls the hook $1 with the payload $2 and suspends it after a moment, for longer than others wait.
freeze() {
  printf '%s' "$2" > "$transcript.$$"
  "$1" --origin plugin < "$transcript.$$" &
  sleep "${freeze_hook#*/}"
  kill -STOP $! 2> /dev/null
  sleep 4
  kill -CONT $! 2> /dev/null
  rm -f "$transcript.$$"
  wait $!
}

# Calls the hook $2 for the event $1 with the payload $3.
hook() {
  has no-hooks && return
  case "$freeze_hook $kill_hook" in
    "$1"/*) freeze "$2" "$3" ;;
    *" $1"/*) printf '%s' "$3" | timeout --foreground -s KILL "${kill_hook#*/}" "$2" --origin plugin ;;
    *) printf '%s' "$3" | "$2" --origin plugin ;;
  esac
  note "hook $1 $?"
}

# Adds the record $1, which is made of $uuid, $parent and $at, to the transcript, at the time that this
# machine's clock shows.
transcribe() {
  parent=$uuid
  read -r uuid < /proc/sys/kernel/random/uuid
  ahead=$(cat '@CLOCK@')
  at=$(date -u -d "${ahead:-0} seconds" +%Y-%m-%dT%H:%M:%S.%3NZ)
  case "$1" in
    user) printf '%s\n' "@user@" ;;
    assistant) printf '%s\n' "@assistant@" ;;
    error) printf '%s\n' "@assistant@" | sed 's/"type":"assistant"/"isApiErrorMessage":true,&/' ;;
  esac >> "$transcript"
}

note began
kill_hook=$(word kill-hook)
freeze_hook=$(word freeze-hook)
work=$(word work)
hook SessionStart '@STATUS@' "@SessionStart@"
hook UserPromptSubmit '@STATUS@' "@UserPromptSubmit@"
transcribe user
hook PreToolUse '@STATUS@' "@PreToolUse@"
sleep "$(printf '%d.%03d' $((${work:-0} / 1000)) $((${work:-0} % 1000)))"
hook PostToolUse '@STATUS@' "@PostToolUse@"
code=$(word exit)
if [ -n "$code" ]; then
  note "exit $code"
  exit "$code"
fi
if has api-error; then
  answer="Answer to $name: API Error"
  note failed
  hook StopFailure '@STATUS@' "@StopFailure@"
  transcribe error
  note "exit 1"
  exit 1
fi
answer="Answer to $name: done."
if has long; then
  answer="Answer to $name: paragraph 1, on and on and on and on and on and on and on and on and on and on."
  number=2
  while [ $number -le @PARAGRAPHS@ ]; do
    answer="$answer\\n\\nAnswer to $name: paragraph $number, on and on and on and on and on and on and on and on."
    number=$((number + 1))
  done
fi
note ended
hook Stop '@GATE@' "@Stop@"
# Claude itself writes it a moment after it has called the hook.
transcribe assistant
printf '%b\n' "$answer"
hook SessionEnd '@STATUS@' "@SessionEnd@"
note 'exit 0'
