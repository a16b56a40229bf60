#!/bin/sh
# Guided campaigns: what they make, that a number names it, what becomes of it when a shard dies, the corpus.
# usage: guided.sh BINARY SOURCE_DIR PART     PART: programs | campaign | corpus | replay
set -u
. "$(dirname "$0")/shell.sh"
nth() { awk -v n="$1" '/^# scatterproof/ { k++ } k == n + 1' "$2"; } # nth N FILE, from 0
stored() { sql "select count(*) from v_programs where text = '$1' || char(10)" "$2"; }

programs() { # seed and number name a program, here and in the shard of a campaign
	"$bin" gen --seed 5 --guided --programs 400 >"$tmp/one"
	"$bin" gen --seed 5 --guided --programs 400 >"$tmp/two"
	expect "gen --guided is repeatable" "$(cksum <"$tmp/one")" "$(cksum <"$tmp/two")"
	"$bin" gen --seed 5 --programs 400 >"$tmp/plain"
	expect "the first program is a fresh one" "$(nth 0 "$tmp/plain")" "$(nth 0 "$tmp/one")"
	same=0
	for n in 200 220 240 260 280 300 320 340 360 380; do
		[ "$(nth $n "$tmp/plain")" = "$(nth $n "$tmp/one")" ] && same=$((same + 1))
	done
	expect "later ones are mutants, some of them" yes "$([ $same -lt 10 ] && echo yes)"
	expect "but not all" yes "$([ $same -gt 0 ] && echo yes)"
	for n in 3 250 399; do
		expect "program $n by its number" "$(nth $n "$tmp/one")" "$("$bin" gen --seed 5 --guided --program $n)"
	done
	"$bin" gen --seed 5 --guided --shard 1/2 --programs 200 >"$tmp/half"
	expect "of a shard" "$(nth 150 "$tmp/half")" "$("$bin" gen --seed 5 --guided --shard 1/2 --program 301)"
	"$bin" gen --seed 5 --guided --shard 1/2 --program 300 >"$tmp/out" 2>"$tmp/err"
	expect "a number of another shard" 2 $?
	has "is said" "$tmp/err" 'program 300 is not of shard 1/2'
	"$bin" gen --guided --policy joint --seed 5 --program 200 >"$tmp/joint"
	hasnt "a policy's form is that of mutants, too" "$tmp/joint" '^backward'
	"$bin" check "$tmp/one" --quiet --target builtin:eager >"$tmp/out"
	expect "all are sound" 0 $?
}

campaign() { # what a campaign stores is what gen makes, also after shards died
	for plant in zero bug-judging; do
		db=$tmp/$plant.db
		"$bin" fuzz --target builtin:eager+plant=$plant --seed 5 --guided --programs 500 --jobs 2 --no-confirm --db "$db" >"$tmp/out" 2>"$tmp/err"
		expect "$plant: every program was counted" $((500 + $(twins "$tmp/out"))) "$(sql 'select sum(n) from v_counters' "$db")"
		note="select payload from v_events where kind = 'note' and payload like '%program % of seed 5,%'"
		[ $plant = zero ] || note="select detail from v_observations where target = 'scatterproof'"
		numbers=$(sql "$note" "$db" | sed 's/.*program \([0-9]*\) of .*/\1/' | sort -n -u | tail -6)
		expect "$plant: some were stored" yes "$([ "$(echo "$numbers" | wc -l)" -ge 3 ] && echo yes)"
		for n in $numbers; do
			text="$("$bin" gen --seed 5 --guided --shard $((n % 2))/2 --program "$n")"
			expect "$plant: program $n is the campaign's" 1 "$(stored "$text" "$db")"
		done
	done
	has "shards died" "$tmp/err" 'shard [01] ended'
	"$bin" fuzz --target builtin:functional --seed 6 --guided --programs 400 --policy double --quiet >"$tmp/out" 2>&1
	expect "with another policy" 0 $?
}

corpus() { # what was kept is written, read, and names programs as long as it is what it was
	dir=$tmp/c
	"$bin" fuzz --target builtin:eager --seed 7 --programs 200 --corpus "$dir" >"$tmp/out" 2>"$tmp/err"
	expect "a directory that is not there" 0 $?
	has "is made" "$tmp/out" '0 seeds; [0-9]+ programs? kept; [0-9]+ with the [0-9]+ features?'
	kept=$(sed -n 's/.* seeds; \([0-9]*\) programs kept.*/\1/p' "$tmp/out")
	file=$(echo "$dir"/guided-*.prog)
	wrote=$(grep -c '^# scatterproof 1' "$file")
	expect "fewer are written than were kept" yes "$([ "$wrote" -gt 20 ] && [ "$wrote" -lt "$kept" ] && echo yes)"
	"$bin" check "$dir" --quiet >"$tmp/out"
	expect "they are programs" 0 $?
	"$bin" fuzz --target builtin:eager --seed 7 --programs 200 --corpus "$file" >"$tmp/out" 2>"$tmp/err"
	expect "a file is no folder" 2 $?
	has "which is said before anything runs" "$tmp/err" "--corpus: $file is no folder"
	"$bin" fuzz --target builtin:eager --seed 7 --programs 200 --corpus "$dir" --jobs 2 >"$tmp/out" 2>"$tmp/err"
	has "they are seeds of the next campaign" "$tmp/out" "$wrote seeds"
	rm -f "$dir"/guided-*.prog
	cp "$src/corpus/seeds"/*.prog "$dir"
	"$bin" fuzz --target builtin:eager+plant=refuse --seed 7 --programs 150 --corpus "$dir" --json >"$tmp/out" 2>"$tmp/err"
	words=$(sed -n 's/.*"first": "scatterproof \(gen [^"]*\)".*/\1/p' "$tmp/out" | head -1)
	expect "a command names the corpus as it was" yes "$(echo "$words" | grep -q -e '--corpus .*#[0-9a-f]\{16\} --program' && echo yes)"
	"$bin" $words >"$tmp/gen" 2>"$tmp/err"
	expect "which it is not any more" 2 $?
	has "and says so" "$tmp/err" 'are others now'
	rm -f "$dir"/guided-*.prog
	"$bin" $words >"$tmp/gen" 2>"$tmp/err"
	expect "as it was" 0 $?
	"$bin" gen --corpus "$dir" --ops mul >"$tmp/out" 2>"$tmp/err"
	expect "limits and seeds" 2 $?
	echo "x = input(" >"$dir/bad.prog"
	"$bin" fuzz --target builtin:eager --programs 5 --corpus "$dir" >"$tmp/out" 2>"$tmp/err"
	expect "a seed that does not read" 2 $?
}

replay() { # corpus/guided on every stage of the built-in compiler
	"$bin" check "$src/corpus/guided" --quiet --target builtin:eager --target builtin:functional --target builtin:joint \
		--target builtin:passes --target builtin:loops --target builtin:jit >"$tmp/out" 2>"$tmp/err"
	expect "exit of check" 0 $?
	has "most of them run" "$tmp/out" '^[0-9]+ programs on 6 targets: [0-9]{4} pass'
	n=$(cat "$src"/corpus/guided/*.prog | grep -c '^# scatterproof 1')
	expect "at most 2,000 programs" yes "$([ "$n" -le 2000 ] && [ "$n" -gt 100 ] && echo yes)"
	expect "at most 1 MiB" yes "$([ "$(cat "$src"/corpus/guided/*.prog | wc -c)" -le 1048576 ] && echo yes)"
}
$part
end
