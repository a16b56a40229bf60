#!/bin/bash
# The binary as a user meets it, on the built-in target only: campaigns, verdicts, the store, repro, exit codes, kill -9.
# usage: campaign.sh BINARY SOURCE_DIR PART     PART: clean | programs | plants | full | targets | mark | refixed | again | lost | sampled | merge | kill | usage
set -u
. "$(dirname "$0")/shell.sh"
unobserved="select (select coalesce(sum(n), 0) from v_counters where verdict = 'mismatch') - (select coalesce(sum(nobs), 0) from v_findings)"

clean() { # a fixed-seed smoke: no finding, nothing unexplained, same programs whatever --jobs
	"$bin" fuzz --target builtin:eager --programs 1500 --seed 11 --jobs 2 --db "$tmp/c.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit of a clean campaign" 0 $?
	has "summary" "$tmp/out" "^0 new findings"
	expect "programs counted" $((1500 + $(twins "$tmp/out"))) "$(sql 'select sum(n) from v_counters' "$tmp/c.db")"
	expect "none invalid" 0 "$(sql "select count(*) from v_counters where verdict in ('invalid', 'harness', 'crash', 'hang', 'mismatch')" "$tmp/c.db")"
	passed=$(sql "select sum(n) from v_counters where verdict = 'pass'" "$tmp/c.db")
	expect "nearly all pass" yes "$([ "$passed" -ge 1450 ] && echo yes)"
	has "the summary counts what the store counts" "$tmp/out" "pass $passed( |$)"
	"$bin" gen --seed 3 --programs 40 >"$tmp/g1"
	"$bin" gen --seed 3 --programs 40 >"$tmp/g2"
	expect "gen is repeatable" "$(cksum <"$tmp/g1")" "$(cksum <"$tmp/g2")"
	"$bin" check "$src/corpus/seeds" >"$tmp/out"
	expect "a directory on builtin:eager" 0 $?
	expect "every file of it" "$(ls "$src"/corpus/seeds/*.prog)" "$(sed -n 's/: pass on .*//p' "$tmp/out")"
	n=$(ls "$src"/corpus/seeds/*.prog | wc -l)
	expect "and a summary" "$n programs on 1 target: $n pass" "$(tail -1 "$tmp/out")"
	"$bin" check "$src/corpus/seeds" --quiet >"$tmp/out"
	expect "a summary alone" "$n programs on 1 target: $n pass" "$(cat "$tmp/out")"
	"$bin" check "$src/corpus/regressions" "$src/tests/prog/undecided" --quiet --target builtin:eager --target builtin:eager+plant=zero >"$tmp/out"
	expect "exit of a quiet check" 1 $?
	has "two targets" "$tmp/out" "^[0-9]+ programs on 2 targets: [0-9]+ pass, [1-9][0-9]* mismatch, [1-9][0-9]* unjudged$"
	for v in mismatch unjudged; do
		expect "each $v" "$(sed -n "s/^[0-9]* programs .* \([0-9]*\) $v.*/\1/p" "$tmp/out")" "$(grep -c "\.prog: $v on " "$tmp/out")"
	done
	expect "what passes, and reports" "" "$(grep -v -e 'programs on' -e '\.prog: mismatch on ' -e '\.prog: unjudged on ' "$tmp/out")"
	"$bin" check "$src/corpus/seeds" --json --target builtin:eager >"$tmp/out"
	expect "nothing but JSON" "" "$(grep -v '^{.*}$' "$tmp/out")"
	"$bin" check "$tmp/g1" >"$tmp/out" 2>"$tmp/err"
	expect "every program of a file is judged" 40 "$(grep -cE '^[^ ].* on builtin:eager' "$tmp/out")"
	expect "programs are named by their lines" "$(grep -n '^# scatterproof 1' "$tmp/g1" | cut -d: -f1)" "$(sed -n 's/^[^ ]*g1:\([0-9]*\): .* on builtin.*/\1/p' "$tmp/out")"
	"$bin" eval - <"$tmp/g1" >"$tmp/out"
	expect "eval reads them too" 40 "$(grep -c '^reference:' "$tmp/out")"
	sed '/^return/{x;s/^/x/;/^xxx$/{x;s/.*/return (nonsense,)/;b};x}' "$tmp/g1" >"$tmp/g3"     # the third program is wrong
	"$bin" check "$tmp/g3" >"$tmp/out" 2>"$tmp/err"
	expect "one bad program among many" 2 "$([ $? -ge 2 ] && echo 2)"
	has "is named by its place" "$tmp/err" "g3:$(grep -n nonsense "$tmp/g3" | cut -d: -f1):[0-9]+: .*nonsense"
	expect "and the others are judged" 39 "$(grep -cE '^[^ ].* on builtin:eager' "$tmp/out")"
	mkdir "$tmp/empty"
	"$bin" check "$tmp/empty" >"$tmp/out" 2>&1
	expect "a directory without programs" 2 $?
	"$bin" check "$src/corpus/seeds/slice_scatter_backward_fx.txt" >"$tmp/out"
	expect "a pasted FX dump" 0 $?
}

programs() { # a number of a seed is one program: of campaigns in any number of shards, of gen alone and among others
	words="--seed 6 --policy layout --ops add.Tensor,slice,sum --dtypes f32,i64"
	"$bin" gen $words --programs 900 >"$tmp/all"
	for shard in 0/1 0/2 1/2; do
		"$bin" fuzz --target builtin:eager+plant=zero $words --programs 900 --jobs 2 --shard $shard --no-confirm --db "$tmp/$$.db" >/dev/null 2>&1
	done
	note="select distinct payload from v_events where kind = 'note' and payload like 'program % of seed 6,%'"
	numbers=$(sql "$note" "$tmp/$$.db" | sed 's/^program \([0-9]*\) of .*/\1/' | sort -nu)
	expect "programs of several blocks diverge" yes "$([ "$(echo "$numbers" | wc -l)" -ge 8 ] && [ "$(echo "$numbers" | tail -1)" -ge 200 ] && echo yes)"
	for n in $numbers; do
		"$bin" gen $words --program "$n" >"$tmp/one"
		text="$(cat "$tmp/one")"
		expect "program $n is the campaign's" 1 "$(sql "select count(*) from v_programs where text = '$text' || char(10)" "$tmp/$$.db")"
		expect "and that of gen --programs" "$text" "$(awk -v n="$n" '/^# scatterproof/ { k++ } k == n + 1' "$tmp/all")"
	done
}

plants() { # every kind of planted fault is found, stored once per signature, confirmed, and shown again
	for k in zero row stale scale; do
		db=$tmp/$k.db
		"$bin" fuzz --target builtin:eager+plant=$k --programs 400 --seed 5 --db "$db" >"$tmp/out" 2>"$tmp/err"
		expect "exit with plant=$k" 1 $?
		expect "none is a candidate while its likes wait for confirmation" 0 "$(grep -c '^FINDING.*candidate' "$tmp/out")"
		expect "every divergence is an observation" 0 "$(sql "$unobserved" "$db")"
		id=$(sql "select id from v_findings where state = 'confirmed' limit 1" "$db")
		"$bin" repro "$id" --db "$db" >"$tmp/out"
		expect "repro of plant=$k" 1 $?
		has "repro says so" "$tmp/out" "still happens"
		"$bin" repro "$id" --db "$db" --target builtin:eager >"$tmp/out"
		expect "repro without the plant" 0 $?
		"$bin" findings show "$id" --db "$db" >"$tmp/out"
		expect "findings show" 0 $?
		has "findings show" "$tmp/out" "scatterproof repro $id"
		expect "findings show prints the program once" 1 "$(grep -c '# scatterproof 1' "$tmp/out")"
		sed -n '/^# scatterproof 1$/,/^$/p' "$tmp/out" >"$tmp/pasted.prog"
		"$bin" check "$tmp/pasted.prog" --target "builtin:eager+plant=$k" >"$tmp/out"
		expect "the program that is shown, pasted into a file" 1 $?
		expect "equal signatures are one finding" 0 "$(sql 'select count(*) - count(distinct signature) from v_findings' "$db")"
	done
	"$bin" fuzz --target builtin:eager+plant=crash --programs 60 --seed 5 --db "$tmp/crash.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit with crashes" 1 $?
	expect "all programs were still judged" 60 "$(sql 'select sum(n) from v_counters' "$tmp/crash.db")"
	expect "crashes have their kind" crash "$(sql 'select distinct kind from v_findings' "$tmp/crash.db")"
	"$bin" fuzz --target builtin:eager+plant=hang --programs 24 --seed 5 --limit 1s --db "$tmp/hang.db" >"$tmp/out" 2>"$tmp/err"
	expect "exit with hangs" 1 $?
	expect "hangs have their kind" hang "$(sql 'select distinct kind from v_findings' "$tmp/hang.db")"
	for k in hang crash refuse; do
		"$bin" check "$src/corpus/seeds" --target builtin:eager+plant=$k --limit 300ms --json | grep '"verdict"' >"$tmp/out"
		expect "some programs fail with plant=$k" yes "$(grep -qv '"verdict":"pass"' "$tmp/out" && echo yes)"
		hasnt "every program has its time with plant=$k" "$tmp/out" '"target_ms":0,'
	done
}

targets() { # what this machine has, from made-up environments; nothing is started unless asked for
	for v in 2.9.1 2.11.0 2.15.0; do
		mkdir -p "$tmp/t/torch-$v/bin" "$tmp/t/torch-$v/lib/python3.11/site-packages/torch"
		printf '#!/bin/sh\ntouch "%s/started"\necho "no torch here" >&2\nexit 1\n' "$tmp" >"$tmp/t/torch-$v/bin/python"
		chmod +x "$tmp/t/torch-$v/bin/python"
		printf "__version__ = '%s+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n" $v \
			>"$tmp/t/torch-$v/lib/python3.11/site-packages/torch/version.py"
	done
	sed -i "s/^cuda.*/cuda: Optional[str] = None/; s/cu130/cpu/" "$tmp/t/torch-2.9.1/lib/python3.11/site-packages/torch/version.py"
	touch "$tmp/t/torch-2.15.0/.incomplete"
	export SCATTERPROOF_TARGETS=$tmp/t
	"$bin" targets >"$tmp/out"
	expect "targets" 0 $?
	expect "versions, oldest first" "torch-2.9.1 torch-2.11.0 torch-2.15.0" "$(grep -oE '^  torch-[0-9.]+' "$tmp/out" | xargs)"
	has "without CUDA" "$tmp/out" "torch-2.9.1 +PyTorch 2.9.1.cpu, without CUDA$"
	has "with CUDA, the default" "$tmp/out" "torch-2.11.0 +PyTorch 2.11.0.cu130, built for CUDA 13.0; meant by"
	has "half installed" "$tmp/out" "torch-2.15.0 is only half installed"
	expect "no interpreter was started" 0 "$(ls "$tmp" | grep -c started)"
	expect "the same as JSON" "2.9.1+cpu 2.11.0+cu130 2.15.0+cu130" "$("$bin" targets --json | sed -n 's/.*"torch": "\([^"]*\)".*/\1/p' | xargs)"
	"$bin" targets --probe >"$tmp/out"
	expect "targets --probe with versions that do not start" 3 $?
	has "why" "$tmp/out" "does not start: .*no torch here"
	expect "an interpreter was started" 1 "$(ls "$tmp" | grep -c started)"
	SCATTERPROOF_TARGETS=$tmp/nothing "$bin" targets >"$tmp/out"
	expect "targets without any" 0 $?
	has "what to do" "$tmp/out" "no version is installed in $tmp/nothing; run scripts/setup-targets"
}

mark() { # decisions of people, and what later campaigns make of them
	fuzz="$bin fuzz --target builtin:eager+plant=zero --programs 150 --seed 5 --db $tmp/m.db --no-recheck" # life.sh has what is known run again
	$fuzz >"$tmp/out" 2>"$tmp/err"
	n=$("$bin" findings --open --json --db "$tmp/m.db" | wc -l)
	ids=($(sql "select group_concat(id, ' ') from v_findings" "$tmp/m.db"))
	"$bin" findings mark "${ids[0]}" known --note "told them" --issue https://example.org/1 --db "$tmp/m.db" >"$tmp/out"
	expect "mark known" 0 $?
	has "says what it did" "$tmp/out" "${ids[0]} was confirmed, is known"
	"$bin" findings mark "${ids[1]}" fixed-in 0.2 --db "$tmp/m.db" >"$tmp/out"
	"$bin" findings mark "${ids[2]}" duplicate --of "${ids[0]}" --db "$tmp/m.db" >"$tmp/out"
	has "a duplicate has its own word" "$tmp/out" "${ids[2]} was confirmed, is duplicate"
	"$bin" findings mark "${ids[3]}" dismissed --db "$tmp/m.db" >"$tmp/out"
	"$bin" findings show "${ids[0]}" --db "$tmp/m.db" >"$tmp/out"
	has "history" "$tmp/out" "known +told them <https://example.org/1>"
	expect "--open leaves decided ones out" $((n - 4)) "$("$bin" findings --open --json --db "$tmp/m.db" | wc -l)"
	expect "the list does not" "$n" "$("$bin" findings --json --db "$tmp/m.db" | wc -l)"
	$fuzz --fail-on new >"$tmp/out" 2>"$tmp/err"
	expect "known ones, and one fixed in a later version, seen again" 0 $?
	has "are counted" "$tmp/out" "^0 new findings, $((n - 4)) seen again and open, 1 known, 1 dismissed, 1 duplicate, 1 fixed in a later version; "
	expect "stay decided" $((n - 4)) "$("$bin" findings --open --json --db "$tmp/m.db" | wc -l)"
	"$bin" findings mark "${ids[1]}" fixed-in --db "$tmp/m.db" >"$tmp/out"
	has "fixed-in without a version keeps the one that was named" "$tmp/out" "${ids[1]} was fixed-in, is fixed-in 0.2$"
	"$bin" findings mark "${ids[1]}" fixed-in 0.1 --db "$tmp/m.db" >"$tmp/out"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "a fixed one seen again" 1 $?
	has "is said" "$tmp/out" "^FINDING ${ids[1]} .*, regressed"
	expect "and open" regressed "$(sql "select state from v_open where id = '${ids[1]}'" "$tmp/m.db")"
	"$bin" findings mark "${ids[3]}" open --db "$tmp/m.db" >"$tmp/out"
	has "open again" "$tmp/out" "was dismissed, is confirmed"
	"$bin" findings mark "${ids[3]}" dismised --db "$tmp/m.db" >"$tmp/out" 2>&1
	expect "an unknown state" 2 $?
	has "an unknown state" "$tmp/out" "did you mean 'dismissed'"
	"$bin" findings mark "${ids[3]}" duplicate --of "${ids[3]}" --db "$tmp/m.db" >"$tmp/out" 2>&1
	expect "a duplicate of itself" 2 $?
	"$bin" findings --db "$tmp/m.db" >"$tmp/out"
	has "columns have names" "$tmp/out" "^id +state +severity +kind "
	expect "the list's duplicates" "${ids[2]}" "$(sed -n 's/^\([0-9a-f]*\) *duplicate .*/\1/p' "$tmp/out")"
	"$bin" findings show "${ids[2]}" --db "$tmp/m.db" >"$tmp/out"
	has "show says of which" "$tmp/out" "^finding ${ids[2]}: .*, duplicate of ${ids[0]}, severity"
	"$bin" findings mark "${ids[3]}" duplicate --of "${ids[2]}" --db "$tmp/m.db" >"$tmp/out"
	expect "a duplicate of a duplicate" 0 $?
	has "is one of the original" "$tmp/out" "${ids[3]} was confirmed, is duplicate of ${ids[0]}$"
	"$bin" findings mark "${ids[0]}" duplicate --of "${ids[3]}" --db "$tmp/m.db" >"$tmp/out" 2>&1
	expect "duplicates of each other" 2 $?
	has "duplicates of each other" "$tmp/out" "${ids[3]} is a duplicate of ${ids[0]} already"
	"$bin" findings mark "${ids[3]}" dismissed --db "$tmp/m.db" >"$tmp/out"
	has "no duplicate any more" "$tmp/out" "was duplicate, is dismissed"
	"$bin" findings mark "${ids[0]}" duplicate --of "${ids[3]}" --db "$tmp/m.db" >"$tmp/out"
	expect "no duplicates of each other any more" 0 $?
	for v in soon v2.15 "2.15 or so" ""; do
		"$bin" findings mark "${ids[1]}" fixed-in "$v" --db "$tmp/m.db" >"$tmp/out" 2>&1
		expect "fixed in '$v'" 2 $?
		has "fixed in '$v'" "$tmp/out" "'$v' is no version"
	done
	"$bin" findings mark "${ids[1]}" fixed-in 2.16.0.dev20260101+cu130 --db "$tmp/m.db" >"$tmp/out"
	expect "fixed in a nightly" 0 $?
}

refixed() { # fixed ones that are seen again unconfirmed: by a campaign that confirms nothing, by check, by a merge
	fuzz="$bin fuzz --target builtin:eager+plant=zero --programs 60 --seed 5 --db $tmp/r.db --no-recheck"
	decide() { for id in $(sql "select id from v_findings" "$tmp/r.db"); do "$bin" findings mark "$id" "$@" --db "$tmp/r.db" >/dev/null; done; }
	$fuzz >"$tmp/out" 2>"$tmp/err"
	n=$(sql "select count(*) from v_findings" "$tmp/r.db")
	expect "something was found" yes "$([ "$n" -gt 0 ] && echo yes)"
	decide fixed-in 0.1
	$fuzz --no-confirm >"$tmp/out" 2>"$tmp/err"
	expect "seen after the fix, unconfirmed" 1 $?
	has "open, and no regression yet" "$tmp/out" "^0 new findings, $n seen again and open; "
	has "each is said" "$tmp/out" "^seen again: [0-9a-f]{8}  candidate, "
	expect "each is a candidate again" "candidate $n" "$(sql "select state || ' ' || count(*) from v_open group by state" "$tmp/r.db")"
	expect "its history says why" "$n" "$(sql "select count(*) from v_events where kind = 'note' and
		payload = 'a candidate regression: marked fixed in 0.1, seen again in 0.1, unconfirmed'" "$tmp/r.db")"
	$fuzz --fail-on new >"$tmp/out" 2>"$tmp/err"
	expect "then confirmed" 1 $?
	has "they are regressed" "$tmp/out" "^0 new findings, $n regressed, 0 seen again and open; "
	decide fixed-in 0.2
	$fuzz --no-confirm >"$tmp/out" 2>"$tmp/err"
	expect "fixed in a later version" 0 $?
	"$bin" gen --seed 5 --programs 60 >"$tmp/r.prog"
	while read -r want state decision; do
		decide $decision
		"$bin" check "$tmp/r.prog" --target builtin:eager+plant=zero --quiet --db "$tmp/r.db" >"$tmp/out"
		expect "check of those that are marked $decision" "$want" $?
		"$bin" check "$tmp/r.prog" --target builtin:eager+plant=zero --db "$tmp/r.db" >"$tmp/out"
		has "check of those that are marked $decision" "$tmp/out" "kept as [0-9a-f]{8}, there before: $state"
		expect "they are then" "$state $n" "$(sql "select state || ' ' || count(*) from v_findings group by state" "$tmp/r.db")"
	done <<-END
		0 known known
		0 dismissed dismissed
		0 fixed-in fixed-in 0.2
		1 candidate fixed-in 0.1
		1 confirmed open
	END
	"$bin" check "$tmp/r.prog" --target builtin:eager+plant=zero --expect pass --db "$tmp/r.db" >"$tmp/out"
	expect "--expect asks for verdicts" 1 $?
	decide known
	"$bin" check "$tmp/r.prog" --target builtin:eager+plant=zero --expect pass --db "$tmp/r.db" >"$tmp/out"
	expect "whatever is marked" 1 $?
	decide fixed-in 0.1
	"$bin" fuzz --target builtin:eager+plant=zero --programs 60 --seed 5 --db "$tmp/elsewhere.db" >"$tmp/out" 2>"$tmp/err"
	"$bin" merge "$tmp/elsewhere.db" --into "$tmp/r.db" >"$tmp/out"
	expect "confirmed in another store" "regressed $n" "$(sql "select state || ' ' || count(*) from v_open group by state" "$tmp/r.db")"
}

again() { # the next nights: exit codes do not forget, what is seen again is said
	fuzz="$bin fuzz --target builtin:eager+plant=zero --programs 150 --seed 5 --db $tmp/a.db"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "the first night" 1 $?
	n=$(sql "select count(*) from v_findings" "$tmp/a.db")
	has "the first night" "$tmp/out" "^$n new findings, 0 seen again and open; [0-9]+ divergent programs$"
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "the second night, nothing marked" 1 $?
	has "the second night" "$tmp/out" "^0 new findings, $n seen again and open; "
	query="select id || '  ' || state || ', ' || severity || ': ' || signature from v_findings order by 1"
	expect "every finding has a line, once" "$(sql "$query" "$tmp/a.db")" \
		"$(sed -n 's/^seen again: //p' "$tmp/out" | sort)"
	$fuzz --json >"$tmp/out" 2>"$tmp/err"
	expect "and in JSON" "$n" "$(grep -c '^{"seen_again": "[0-9a-f]*", "state": "confirmed", "severity": "high", "signature": "' "$tmp/out")"
	has "and in JSON" "$tmp/out" "\"new_findings\": 0, \"regressed\": 0, \"seen_again_open\": $n, \"known\": 0"
	$fuzz --fail-on new >"$tmp/out" 2>"$tmp/err"
	expect "--fail-on new" 0 $?
	for id in $(sql "select id from v_findings" "$tmp/a.db"); do "$bin" findings mark "$id" known --db "$tmp/a.db" >/dev/null; done
	$fuzz >"$tmp/out" 2>"$tmp/err"
	expect "all are known" 0 $?
	has "all are known" "$tmp/out" "^0 new findings, 0 seen again and open, $n known; "
	"$bin" findings mark "$id" open --db "$tmp/a.db" >/dev/null
	$fuzz --fail-on high,open >"$tmp/out" 2>"$tmp/err"
	expect "one is open again" 1 $?
	has "one is open again" "$tmp/out" "^seen again: $id  confirmed, high: "
	for words in meta low high,normal open,new nonsense ""; do
		"$bin" fuzz --target builtin:eager --programs 1 --fail-on "$words" >"$tmp/out" 2>"$tmp/err"
		expect "--fail-on '$words'" 2 $?
	done
	"$bin" fuzz --target builtin:eager --programs 1 --fail-on meta >"$tmp/out" 2>"$tmp/err"
	has "the old word" "$tmp/err" "--fail-on: 'meta' is now 'trivial'"
	"$bin" fuzz --target builtin:eager+plant=zero --programs 150 --seed 5 >"$tmp/out" 2>"$tmp/err"
	expect "without a store everything is new" 1 $?
	expect "and has one report for each" "$(sed -n 's/^\([0-9]*\) new findings.*/\1/p' "$tmp/out")" "$(grep -c '^FINDING' "$tmp/out")"
}

# How many programs a campaign ran once more in a wider dtype, which it counts, too.
twins() { sed -n 's/.* \([0-9]*\) of them run again in a wider dtype.*/\1/p' "$1" | grep . || echo 0; }

lost() { # a fault of ours costs one program, not the campaign
	for k in bug-making bug-judging kill-judging bug-confirming; do
		for jobs in 1 2; do
			db=$tmp/$k$jobs.db
			"$bin" fuzz --target builtin:eager+plant=$k --programs 400 --seed 5 --jobs $jobs --db "$db" >"$tmp/out" 2>"$tmp/err"
			rc=$?
			expect "exit with $k" "$([ $k = bug-confirming ] && echo 1 || echo 0)" $rc
			n=$(sed -n 's/^  \([0-9]*\) programs ended a shard.*/\1/p' "$tmp/out")
			extra=$([ $k = bug-confirming ] && echo "$n" || echo 0)
			expect "$k: some did" yes "$([ "${n:-0}" -gt 2 ] && echo yes)"
			expect "$k: each is counted" "$n" "$(sql "select sum(n) from v_counters where verdict = 'harness'" "$db")"
			extra=$((extra + $(twins "$tmp/out")))
			# What died while it was confirmed may have been counted as a mismatch before.
			total=$(sql "select sum(n) from v_counters" "$db")
			expect "$k: all others are judged" yes "$([ "$total" -ge 400 ] && [ "$total" -le $((400 + extra)) ] && echo yes)"
			expect "$k: each is in the store" "$n" "$(sql "select nobs from v_findings where target = 'scatterproof'" "$db")"
			has "$k: said" "$tmp/err" \
				"a fault of scatterproof itself, .* with program [0-9]+ of seed 5; this campaign goes on without it; kept as [0-9a-f]{8}"
			number=$(sed -n 's/.*with program \([0-9]*\) of seed 5;.*/\1/p' "$tmp/err" | head -1)
			"$bin" gen --seed 5 --program "$number" >"$tmp/prog"
			[ $k = bug-making ] && continue
			query="select count(*) from v_programs where text = '$(cat "$tmp/prog")' || char(10)"
			expect "$k: with its program" 1 "$(sql "$query" "$db")"
			expect "$k: in the message, too" yes "$(grep -qF "$(sed -n 2p "$tmp/prog")" "$tmp/err" && echo yes)"
			id=$(sql "select id from v_findings where target = 'scatterproof'" "$db")
			"$bin" repro "$id" --db "$db" >"$tmp/out" 2>&1
			expect "repro of a fault of ours" 2 $?
		done
	done
}

sampled() { # a dear target gets each K-th program, new shapes of loops, and what diverged; each is counted once, whatever dies
	sum='import json, sys
s = json.loads(sys.stdin.read().splitlines()[-1])["summary"]
verdicts = sum(s[v] for v in ("pass", "mismatch", "unsupported", "unjudged", "harness"))
print(*(s["sampled"][k] for k in ("turn", "new_shape", "finding")), s["harness"], verdicts - s["wide_twins"])'
	"$bin" fuzz --target builtin:loops --sample builtin:passes --every 50 --programs 300 --seed 5 --quiet --json >"$tmp/out" 2>"$tmp/err"
	expect "a clean one" 0 $?
	python3 -c "$sum" <"$tmp/out" >"$tmp/said"
	read -r turn shape finding harness all <"$tmp/said"
	expect "each 50th" 6 "$turn"
	expect "new shapes are some" 1 "$((shape > 20 && shape < 150))"
	expect "nothing diverged" 0 "$finding"
	expect "every verdict is one of a program" $((300 + turn + shape)) "$all"
	"$bin" fuzz --target builtin:loops --sample builtin:passes --every 50 --programs 300 --seed 5 --quiet >"$tmp/out" 2>"$tmp/err"
	has "in words" "$tmp/out" "^  builtin:passes: $((turn + shape)) of 300 programs \\(6 each 50th, $shape new shapes of loops, 0 findings\\)$"
	"$bin" fuzz --sample builtin:functional --target builtin:loops+plant=zero --every 1000 --programs 200 --seed 5 --quiet --json --no-confirm >"$tmp/out" 2>"$tmp/err"
	expect "findings" 1 $?
	python3 -c "$sum" <"$tmp/out" >"$tmp/said"
	read -r turn shape finding harness all <"$tmp/said"
	expect "they go to it, too" 1 "$((finding > 10))"
	expect "and are counted once" $((200 + turn + shape + finding)) "$all"
	"$bin" fuzz --target builtin:loops+plant=kill-judging --sample builtin:passes --every 50 --programs 300 --seed 5 --quiet --json >"$tmp/out" 2>"$tmp/err"
	python3 -c "$sum" <"$tmp/out" >"$tmp/said"
	read -r turn shape finding harness all <"$tmp/said"
	expect "shards died" 1 "$((harness > 0))"
	expect "and nothing is counted twice" 1 "$((all <= 300 + turn + shape && all >= 300 + turn + shape - harness))"
	"$bin" fuzz --sample builtin:o2 --programs 3 >"$tmp/out" 2>"$tmp/err"
	expect "no target" 2 $?
	has "says so" "$tmp/err" '--sample goes with a --target'
	"$bin" fuzz --target builtin:jit --every 3 --programs 3 >"$tmp/out" 2>"$tmp/err"
	expect "nothing to sample for" 2 $?
	has "says so" "$tmp/err" '--every goes with --sample'
}

merge() { # shards merge into one store, again and again, also killed
	again=0
	for i in 0 1; do
		"$bin" fuzz --target builtin:eager+plant=zero --programs 300 --seed 5 --shard $i/2 --db "$tmp/s$i.db" >"$tmp/out" 2>&1
		again=$((again + $(twins "$tmp/out")))
	done
	all="select (select count(*) from finding) || ' ' || (select count(*) from observation) || ' ' || (select count(*) from event) || ' ' ||
		(select sum(n) from counter) || ' ' || (select sum(nobs) from v_findings)"
	"$bin" merge "$tmp/s0.db" "$tmp/s1.db" --into "$tmp/all.db" >"$tmp/out"
	expect "merge" 0 $?
	has "merge" "$tmp/out" "all.db: [1-9][0-9]* findings, [1-9][0-9]* of them new"
	want=$(sql "$all" "$tmp/all.db")
	expect "programs are added" $((300 + again)) "$(sql 'select sum(n) from v_counters' "$tmp/all.db")"
	"$bin" merge "$tmp/s1.db" "$tmp/all.db" "$tmp/s0.db" --into "$tmp/all.db" >"$tmp/out"
	has "merged again" "$tmp/out" " 0 of them new"
	expect "merged again" "$want" "$(sql "$all" "$tmp/all.db")"
	killed=0
	for i in $(seq 25); do
		"$bin" merge "$tmp/s0.db" "$tmp/s1.db" --into "$tmp/k.db" >"$tmp/out" 2>"$tmp/err" &
		pid=$!
		sleep "$(printf '0.%03d' $((i * 2)))"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
		[ $? = 137 ] && killed=$((killed + 1))
		[ -s "$tmp/k.db" ] && expect "integrity after kill $i" ok "$(sqlite3 "$tmp/k.db" 'pragma integrity_check')"
		[ $((i % 3)) = 0 ] && rm -f "$tmp"/k.db*
	done
	echo "$killed of 25 merges killed"
	expect "some were killed" yes "$([ $killed -gt 0 ] && echo yes)"
	"$bin" merge "$tmp/s0.db" "$tmp/s1.db" --into "$tmp/k.db" >"$tmp/out"
	expect "whatever was killed" "$want" "$(sql "$all" "$tmp/k.db")"
	"$bin" merge "$tmp/s0.db" "$tmp/absent.db" --into "$tmp/none.db" >"$tmp/out" 2>&1
	expect "an absent source" 2 $?
	expect "nothing was made" 0 "$(ls "$tmp" | grep -c none.db)"
}

full() { # a file size limit, as a full disk: exit 3, what was stored stays, what was not is printed
	(ulimit -f 500; exec "$bin" fuzz --target builtin:eager+plant=zero --time 60s --seed 5 --db "$tmp/full.db" >"$tmp/out" 2>"$tmp/err")
	expect "exit with a full disk" 3 $?
	has "the reason" "$tmp/err" "full.db: .*the disk is full"
	has "findings that are only printed" "$tmp/err" "a finding could not be stored"
	"$bin" findings sql "select lower(hex(id)) from finding" --db "$tmp/full.db" >"$tmp/ids"
	expect "the store opens" 0 $?
	has "some were stored" "$tmp/out" "^FINDING"
	for id in $(sed -n 's/^FINDING \([0-9a-f]*\) .*/\1/p' "$tmp/out"); do
		has "$id was reported" "$tmp/ids" "^$id"
	done
	expect "integrity" ok "$(sqlite3 "$tmp/full.db" 'pragma integrity_check')"
	(ulimit -f 1; exec "$bin" gen --seed 3 --programs 40 >"$tmp/out" 2>"$tmp/err")
	expect "exit with a full disk for standard output" 3 $?
	has "and its reason" "$tmp/err" "standard output: File too large"
	for words in "check $src/corpus/seeds" "check $src/corpus/seeds --json" "gen --seed 3 --programs 40" "targets"; do
		"$bin" $words >/dev/full 2>"$tmp/err"
		expect "exit of $words > /dev/full" 3 $?
		has "$words > /dev/full" "$tmp/err" "cannot write to standard output: No space left on device"
	done
	(ulimit -f 1; exec "$bin" gen --seed 3 --programs 40 --out "$tmp/out" 2>"$tmp/err")
	expect "exit with a full disk for --out" 3 $?
}

kill_test() { # kill -9 at 30 random moments: what was reported is in the file, which is whole
	RANDOM=4
	for i in $(seq 30); do
		db=$tmp/k$i.db
		"$bin" fuzz --target builtin:eager+plant=zero --time 30s --seed $i --db "$db" >"$tmp/out" 2>/dev/null &
		pid=$!
		sleep "$(printf '0.%03d' $((RANDOM % 900 + 50)))"
		kill -9 $pid
		wait $pid 2>/dev/null
		[ -e "$db" ] || continue
		"$bin" findings sql "select lower(hex(id)) from finding" --db "$db" >"$tmp/ids" 2>"$tmp/err"
		rc=$?
		if [ $rc != 0 ] && ! grep -q '^FINDING' "$tmp/out" && grep -qiE "empty|not a database|absent|no such" "$tmp/err"; then
			continue        # killed before the schema was committed
		fi
		expect "kill $i: the store opens ($(cat "$tmp/err"))" 0 $rc
		for id in $(sed -n 's/^FINDING \([0-9a-f]*\) .*/\1/p' "$tmp/out"); do
			has "kill $i: $id was reported" "$tmp/ids" "^$id"
		done
		expect "kill $i: integrity" ok "$(sqlite3 "$db" 'pragma integrity_check')"
	done
}

usage() { # bad input: a sentence and the documented code
	"$bin" fuzz --target nonsense:eager >"$tmp/out" 2>&1
	expect "unknown target" 2 $?
	"$bin" fuzz --nonsense >"$tmp/out" 2>&1
	expect "unknown option" 2 $?
	printf '# scatterproof 1\nx = input([4], dtype=f32, fill=dyadc)\nreturn (x,)\n' >"$tmp/fill.prog"
	printf '# scatterproof 1\nx = input([4], dtype=flaot32)\nreturn (x,)\n' >"$tmp/dtype.prog"
	printf '# scatterproof 1\nx = input([4])\ny = aten.sllice(x)\nreturn (y,)\n' >"$tmp/op.prog"
	while IFS='|' read -r words want; do # a name that is nearly right
		"$bin" $words >"$tmp/out" 2>&1
		expect "$words" 2 $?
		has "$words" "$tmp/out" "did you mean '$want'\?( \(try \`scatterproof findings --help\`\))?$"
	done <<-END
		chekc x.prog|check
		fuzz --tagret builtin:eager|--target
		fuzz --prgrams=3|--programs
		fuzz --target trch:eager|torch
		fuzz --target torch:inducter@cpu|inductor
		fuzz --target torch:inductor@cdua|cuda
		fuzz --target builtin:eager --policy defualt|default
		fuzz --target builtin:eager --ops slice_scater|slice_scatter
		fuzz --target builtin:eager --dtypes f23|f32
		ops slice_scater|slice_scatter
		check $tmp/fill.prog|dyadic
		check $tmp/dtype.prog|float32
		check $tmp/op.prog|slice
		findings sow --db x.db|show
		findings --jsn --db x.db|--json
	END
	"$bin" frobnicate >"$tmp/out" 2>&1
	expect "nothing is near" 0 "$(grep -c 'did you mean' "$tmp/out")"
	"$bin" check "$tmp/absent.prog" >"$tmp/out" 2>&1
	expect "absent file" 2 $?
	printf '# scatterproof 1\nx = input([4, 13])\ny = slice(x, dim=7)\nreturn (y,)\n' >"$tmp/bad.prog"
	"$bin" check "$tmp/bad.prog" >"$tmp/out" 2>&1
	expect "bad program" 2 $?
	has "place and fact" "$tmp/out" "bad.prog:3:1: slice.Tensor: .*(-2|\[).*7"
	"$bin" gen --seed 5 --programs 60 | awk '/^# scatterproof/ { text = "" } { text = text $0 "\n" } END { printf "%s", text }' >"$tmp/last.prog"
	"$bin" gen --seed 5 --program 59 >"$tmp/only.prog"
	expect "gen of one program" "$(cat "$tmp/last.prog")" "$(cat "$tmp/only.prog")"
	"$bin" fuzz --target torch:eager --python /nonexistent/python --time 1s >"$tmp/out" 2>&1
	expect "no such interpreter" 3 $?
	for verb in "check $src/corpus/seeds/slice_scatter_f32_2x8x16_0_4.prog" "fuzz --time 1s"; do
		"$bin" $verb --target torch:eager --python nonexistent-python >"$tmp/out" 2>&1
		expect "no such interpreter in PATH: $verb" 3 $?
		has "no such interpreter in PATH: $verb" "$tmp/out" "nonexistent-python: no such program in PATH"
	done
	"$bin" check "$src/corpus/seeds" --target torch:eager --python nonexistent-python >"$tmp/out" 2>&1
	expect "and it is said once" 1 "$(grep -c 'no such program' "$tmp/out")"
	"$bin" repro abcdef --db "$tmp/absent.db" >"$tmp/out" 2>&1
	expect "absent store" 2 $?
	echo garbage >"$tmp/garbage.db"
	"$bin" fuzz --target builtin:eager --programs 1 --db "$tmp/garbage.db" >"$tmp/out" 2>&1
	expect "a file that is no store" 2 $?
	expect "and it is untouched" garbage "$(cat "$tmp/garbage.db")"
	endless='with recursive t(x) as (select 1 union all select x + 1 from t) select count(*) from t'
	"$bin" fuzz --target builtin:eager --programs 1 --db "$tmp/one.db" >"$tmp/out" 2>&1
	timeout 20 "$bin" findings sql "$endless" --limit 300ms --db "$tmp/one.db" >"$tmp/out" 2>&1
	expect "an endless query" 2 $?
	has "an endless query" "$tmp/out" "longer than 0.3 s.*--limit"
	(trap - INT; exec "$bin" findings sql "$endless" --db "$tmp/one.db" >"$tmp/out" 2>&1) &
	pid=$!
	becomes "the query runs" works $pid
	kill -INT $pid
	wait $pid
	expect "an endless query and Ctrl-C" 130 $?
	has "an endless query and Ctrl-C" "$tmp/out" "ended by signal 2"
	"$bin" findings sql "$endless" --db "$tmp/one.db" >"$tmp/out" 2>&1 &
	pid=$!
	becomes "the query runs" works $pid
	for i in 1 2 3 4 5; do kill -TERM $pid; sleep 0.01; done 2>/dev/null # a wish said five times is one wish
	wait $pid
	expect "an endless query and many signals" 143 $?
	has "an endless query and many signals" "$tmp/out" "ended by signal 15"
	"$bin" fuzz --target builtin:eager --time 200s --db "$tmp/sig.db" >"$tmp/out" 2>&1 &
	pid=$!
	becomes "programs are counted" counted "$tmp/sig.db" 1
	kill -TERM $pid
	wait $pid
	expect "SIGTERM" 143 $?
	expect "the store is whole" ok "$(sqlite3 "$tmp/sig.db" 'pragma integrity_check')"
	for i in 1 2 3 4 5 6; do # Ctrl-C while some wait for their confirmation: they are kept, unconfirmed
		n=$(sql "select coalesce(sum(n), 0) from v_counters" "$tmp/int.db" 2>/dev/null || echo 0)
		"$bin" fuzz --target builtin:eager+plant=zero --time 200s --seed $((i + 3)) --db "$tmp/int.db" >"$tmp/out" 2>&1 &
		pid=$!
		becomes "programs are counted" counted "$tmp/int.db" $((n + 60 * i - 59))
		kill -TERM $pid
		[ $((i % 2)) = 0 ] && kill -TERM $pid   # as timeout(1) does: to the process and to its group
		wait $pid
		expect "SIGTERM $i" 143 $?
		expect "no divergence is lost by SIGTERM $i" 0 "$(sql "$unobserved" "$tmp/int.db")"
	done
}

case $part in
clean) clean ;;
programs) programs ;;
plants) plants ;;
full) full ;;
targets) targets ;;
mark) mark ;;
refixed) refixed ;;
again) again ;;
lost) lost ;;
sampled) sampled ;;
merge) merge ;;
kill) kill_test ;;
usage) usage ;;
*) echo "unknown part $part"; exit 2 ;;
esac
end
