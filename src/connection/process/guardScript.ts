/**
 * The program of the guard process, for a POSIX shell. While the supervisor lives it only uses builtins of the shell; for the
 * cleanup it needs `grep`, `tr` and `sleep`, and `ps` and `date` on macOS. It tries them at its start and exits with code 3 if
 * it could not find or end anything with them.
 *
 * Its arguments are the tag of the run and the process groups that run already: they are known from the start, also if the
 * supervisor dies before it writes the first line. Processes with `MCP_SUPERVISOR_RUN=TAG` in their environment belong to this
 * supervisor.
 *
 * It reads one word and its argument per line from its input:
 *
 * - `group PID`: this process group was started by the supervisor
 * - `gone PID`: nothing of this group is left
 * - `bye`: everything has ended in order; the guard exits and signals nothing
 *
 * Other lines are ignored. The end of the input without `bye` means that the supervisor died.
 */
import { variables } from "../../system/environment.js"

export const guardScript = `
trap '' HUP INT QUIT TERM USR1 USR2 TSTP PIPE ALRM
export LC_ALL=C
looks=0 left= singles=
run=\${1-}
[ $# -eq 0 ] || shift

is_number() {
  case $1 in '' | *[!0-9]*) return 1 ;; esac
}

# hundredths of a second since a fixed moment
clock() {
  now=
  { read -r now rest </proc/uptime; } 2>/dev/null
  case $now in
    *.[0-9][0-9]) now=\${now%.*}\${now#*.} ;;
    *) now=$(date +%s)00 ;;
  esac
  # with a leading zero it would be octal
  now=\${now#0}
  now=\${now#0}
}

# prints the tag and the marks of guards that these processes have in their environment, each after the process:
# "/proc/PID/environ:ENTRY", or "#PID" and "ENTRY" in two lines
marks_of() {
  wanted="${variables.run}=$run|${variables.guard}=[0-9]+"
  case $way in
    grep) grep -aszxHoE "$wanted" $1/environ 2>/dev/null | tr '\\000' '\\n' ;;
    tr)
      # an entry may hold line ends, and "#" as well: neither may look like the next entry or process
      for directory in $1; do
        [ -r "$directory/environ" ] || continue
        echo "#\${directory#/proc/}"
        tr '\\000\\n#' '\\n  ' <"$directory/environ"
      done 2>/dev/null | grep -xE "#[0-9]+|$wanted" ;;
    ps)
      ps -axEww -o pid= -o command= 2>/dev/null | tr '#' ' ' | while read -r pid words; do
        printf '%s\\n' "#$pid $words"
      done | tr ' ' '\\n' | grep -xE "#[0-9]+|$wanted" ;;
  esac
}

# /proc counts only if it shows the processes of our own namespace
self=
{ read -r self rest </proc/self/stat; } 2>/dev/null
if [ "$self" = "$$" ]; then
  for way in grep tr none; do
    case $(marks_of "/proc/$$") in *"${variables.guard}=$${variables.guard}"*) break ;; esac
  done
elif [ "$(uname 2>/dev/null)" = Darwin ] && command -v ps >/dev/null 2>&1; then
  way=ps
else
  way=none
fi
clock
[ "$way" != none ] && sleep 0 2>/dev/null && is_number "$now" && [ "$now" -gt 0 ] || exit 3

# the group of a process, and when it started; empty if it has ended
stat_of() {
  group= start= stat=
  if [ "$way" = ps ]; then
    group=$(ps -o pgid= -p "$1" 2>/dev/null)
    group=\${group##* }
  else
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null
    # the name of the program may hold anything, so everything up to its last bracket is cut off
    set -- \${stat##*) }
    case \${1-} in Z | X) return ;; esac
    group=\${3-} start=\${20-}
  fi
}

know() {
  is_number "$1" || return
  leader=$1 start=
  [ "$way" = ps ] || stat_of "$leader"
  eval "group_$leader=\${start:-known}"
}

for leader; do know "$leader"; done
while IFS= read -r line; do
  case $line in
    'group '*) know "\${line#group }" ;;
    'gone '*) is_number "\${line#gone }" && unset "group_\${line#gone }" ;;
    bye) exit 0 ;;
  esac
done
[ -n "$run" ] || exit 0

# the leaders whose start is known
leaders=
for entry in $(set); do
  case $entry in group_*)
    leader=\${entry%%=*}
    leader=\${leader#group_}
    is_number "$leader" && eval "is_number \\"\\$group_$leader\\"" && leaders="$leaders $leader" ;;
  esac
done

# adds a group to those that were seen in this look
see() {
  eval "last=\\\${seen_$1-}"
  [ "$last" = "$looks" ] && return
  eval "seen_$1=$looks"
  seen="$seen $1"
}

# finds the processes that carry the tag now, and the leaders that the supervisor started: groups of the supervisor as a whole
# (left), all others alone (singles)
look() {
  looks=$((looks + 1))
  tagged= seen= singles=
  for mark in $(marks_of '/proc/[0-9]*'); do
    case $mark in
      '#'*) pid=\${mark#?} ;;
      /*)
        pid=\${mark#/proc/}
        pid=\${pid%%/*} ;;
    esac
    case $mark in
      *${variables.run}=*) tagged="$tagged $pid" ;;
      *${variables.guard}=*) eval "guarded_\${mark##*=}=$looks" ;;
    esac
  done
  for pid in $tagged; do
    stat_of "$pid"
    # it has just ended
    is_number "$group" || continue
    eval "known=\\\${group_$group-} guarded=\\\${guarded_$pid-}"
    if [ -n "$known" ]; then
      see "$group"
    elif [ "$guarded" != "$looks" ]; then
      # a process that has a guard is a supervisor of its own, unless it is one of our servers
      singles="$singles $pid"
    fi
  done
  # a leader that started when the supervisor started it is ours, also if it has overwritten its environment
  for leader in $leaders; do
    eval "began=\\$group_$leader"
    stat_of "$leader"
    [ "$group" = "$leader" ] && [ "$start" = "$began" ] && see "$leader"
  done
  # a group that carried the tag before and has existed at every look since is still ours, also without its leader
  for group in $left; do
    kill -0 "-$group" 2>/dev/null && see "$group"
  done
  left=$seen
  [ -n "$left$singles" ]
}

end() {
  for group in $left; do kill "-$1" "-$group" 2>/dev/null; done
  for pid in $singles; do kill "-$1" "$pid" 2>/dev/null; done
}

pause() {
  # not every sleep knows fractions
  sleep "$1" 2>/dev/null || sleep 1
}

look || exit 0
end TERM
clock
deadline=$((now + 150))
for length in 0.05 0.1 0.15 0.2 0.3 0.3 0.3 0.1; do
  pause "$length"
  look || exit 0
  clock
  [ "$now" -lt "$deadline" ] || break
done
for length in 0.1 0.2 0.3 0.5 1 1; do
  end KILL
  # a process that has ended and that its parent has not reaped keeps its group, for ever perhaps. It carries no tag, so from
  # here on groups are found by the tag alone
  left=
  pause "$length"
  look || exit 0
done
exit 1
`
