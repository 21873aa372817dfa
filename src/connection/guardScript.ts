/**
 * The program of the guard process, for a POSIX shell. While the supervisor lives it only uses builtins of the shell; for the
 * cleanup it needs `grep` and `sleep` (Linux) or `ps` and `sleep` (macOS).
 *
 * It reads one word and its argument per line from its input:
 *
 * - `run TAG`: processes with `MCP_SUPERVISOR_RUN=TAG` in their environment belong to this supervisor
 * - `group PID`: this process group was started by the supervisor
 * - `gone PID`: nothing of this group is left
 * - `bye`: everything has ended in order; the guard exits and signals nothing
 *
 * Other lines are ignored. The end of the input without `bye` means that the supervisor died.
 */
export const guardScript = `
trap '' HUP INT QUIT TERM USR1 USR2 TSTP PIPE ALRM
export LC_ALL=C
run= groups=' ' left= singles=

# whether /proc shows the processes of our own namespace
proc=no self=
{ read -r self rest </proc/self/stat; } 2>/dev/null
[ "$self" = "$$" ] && proc=yes
[ "$proc" = yes ] || [ "$(uname 2>/dev/null)" = Darwin ] || exit 3
for needed in sleep $([ "$proc" = yes ] && echo grep || echo ps); do
  command -v "$needed" >/dev/null 2>&1 || exit 3
done

while IFS= read -r line; do
  case $line in
    'run '*) run=\${line#run } ;;
    'group '*) groups="$groups\${line#group } " ;;
    'gone '*)
      gone=" \${line#gone } "
      case $groups in *"$gone"*) groups="\${groups%%"$gone"*} \${groups#*"$gone"}" ;; esac ;;
    bye) exit 0 ;;
  esac
done
[ -n "$run" ] || exit 0

# prints the processes whose environment holds exactly this entry
having() {
  if [ "$proc" = yes ]; then
    for file in $(grep -lszxF -e "$1" /proc/[0-9]*/environ 2>/dev/null); do
      file=\${file#/proc/}
      echo "\${file%/environ}"
    done
  else
    ps -axEww -o pid= -o command= 2>/dev/null | while read -r pid words; do
      case " $words " in *" $1 "*) echo "$pid" ;; esac
    done
  fi
}

group_of() {
  group= stat=
  if [ "$proc" = yes ]; then
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null
    # the name of the program may hold anything, so everything up to its last bracket is cut off
    set -- \${stat##*) }
    group=\${3-}
  else
    group=$(ps -o pgid= -p "$1" 2>/dev/null)
    group=\${group##* }
  fi
}

# finds the processes that carry the tag now: groups of the supervisor as a whole (left), all others alone (singles)
look() {
  seen=' ' singles=
  for pid in $(having "MCP_SUPERVISOR_RUN=$run"); do
    group_of "$pid"
    case $groups in
      *" $group "*)
        case $seen in *" $group "*) ;; *) seen="$seen$group " ;; esac ;;
      *)
        # a process that has a guard is a supervisor of its own
        [ -n "$(having "MCP_SUPERVISOR_GUARD=$pid")" ] || singles="$singles $pid" ;;
    esac
  done
  # a group that carried the tag before and has existed at every look since is still ours, also without its leader
  for group in $left; do
    case $seen in *" $group "*) ;; *) kill -0 "-$group" 2>/dev/null && seen="$seen$group " ;; esac
  done
  left=\${seen# }
  [ -n "$left$singles" ]
}

end() {
  for group in $left; do kill "-$1" "-$group" 2>/dev/null; done
  for pid in $singles; do kill "-$1" "$pid" 2>/dev/null; done
}

look || exit 0
end TERM
for pause in 0.05 0.1 0.15 0.2 0.3 0.3 0.3; do
  sleep "$pause"
  look || exit 0
done
for pause in 0.1 0.2 0.3 0.5 1 1; do
  end KILL
  # one SIGKILL is enough for a group: what may be left of it is not ours to reap
  left=
  sleep "$pause"
  look || exit 0
done
exit 1
`
