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
has() { # has WHAT FILE PATTERN
	checks=$((checks + 1))
	grep -qE -e "$3" "$2" || { echo "FAIL: $1: no '$3' in:"; tail -20 "$2"; fails=$((fails + 1)); }
}
hasnt() { # hasnt WHAT FILE PATTERN
	checks=$((checks + 1))
	! grep -E -e "$3" "$2" || { echo "FAIL: $1: '$3' is there"; fails=$((fails + 1)); }
}
sql() { "$bin" findings sql "$1" --db "$2" | tail -n +2; }
end() { # the exit code
	echo "$checks checks, $fails failed"
	[ $checks -gt 3 ] && [ $fails = 0 ]
}
