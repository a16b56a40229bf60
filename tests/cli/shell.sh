# What tests of the binary share, sourced: their first three arguments (the binary, the sources, the part of the test), a folder $tmp, checks
# that count themselves.
bin=$1 src=$2 part=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fails=0
checks=0
expect() { # expect WHAT WANT GOT
	checks=$((checks + 1))
	if [ "$2" != "$3" ]; then
		echo "FAIL: $1: want '$2', got '$3'"
		fails=$((fails + 1))
	fi
}
# Patterns are sought in what the binary says, not in the random name of $tmp, which stands for itself there: "7Djs0o" has an s0.
said() { sed "s|$tmp|\$tmp|g" "$1"; }
pattern() { printf '%s\n' "$1" | sed "s|$tmp|[$]tmp|g"; } # whoever seeks a file in $tmp names it so
has() { # has WHAT FILE PATTERN
	checks=$((checks + 1))
	said "$2" | grep -qE -e "$(pattern "$3")" || { echo "FAIL: $1: no '$3' in:"; tail -20 "$2"; fails=$((fails + 1)); }
}
hasnt() { # hasnt WHAT FILE PATTERN
	checks=$((checks + 1))
	! said "$2" | grep -E -e "$(pattern "$3")" || { echo "FAIL: $1: '$3' is there"; fails=$((fails + 1)); }
}
judges() { # judges WHAT FILE TARGET PROGRAMS: see judged.awk
	expect "$1" yes "$(awk -v target="$3" -v programs="$4" -f "$src/tests/cli/judged.awk" "$2")"
}
becomes() { # becomes WHAT COMMAND...: waits for a state, that COMMAND succeeds; a failed check after two minutes
	local what=$1 end=$(($(date +%s) + 120))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $end ] || { expect "$what" yes no; return; }
		sleep 0.02
	done
}
# States. counted DB N: a campaign has committed N programs; runs PID: it is the binary; sleeps PID: and waits for something.
counted() { [ "$("$bin" findings sql "select coalesce(sum(n), 0) from v_counters" --db "$1" | tail -1)" -ge "$2" ]; }
runs() { [ "$(readlink /proc/"$1"/exe)" -ef "$bin" ]; }
sleeps() { runs "$1" && [ "$(cut -d' ' -f3 /proc/"$1"/stat)" = S ]; }
ticks() { cat $(printf '/proc/%s/stat ' "$@") 2>/dev/null | awk '{n += $14 + $15} END {print n + 0}'; } # of processor time, 100 a second
works() { runs "$1" && [ "$(ticks "$1")" -ge 20 ]; }
descendants() { # descendants PID
	for p in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		echo "$p"
		descendants "$p"
	done
}
has_descendants() { [ "$(descendants "$1" | wc -l)" -ge "$2" ]; } # has_descendants PID N
stands_still() { # nothing below PID has used the processor for a second
	local all before
	all=$(descendants "$1")
	before=$(ticks $all)
	sleep 1
	[ "$before" = "$(ticks $(descendants "$1"))" ]
}
gone() { for p in "$@"; do [ "$(cut -d' ' -f3 /proc/"$p"/stat 2>/dev/null || echo Z)" = Z ] || return 1; done; } # gone PID...
# twins FILE: how many wide twins a campaign whose summary this is has run beside its programs; each has a verdict of its own.
twins() { sed -n 's/.* suspects: [0-9]*; \([0-9]*\) of them run again .*/\1/p' "$1" | grep . || echo 0; }
sql() { "$bin" findings sql "$1" --db "$2" | tail -n +2; }
end() { # the exit code
	echo "$checks checks, $fails failed"
	[ $checks -gt 3 ] && [ $fails = 0 ]
}
