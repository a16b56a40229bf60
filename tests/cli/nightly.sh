#!/bin/bash
# nightly.sh BIN SOURCE PART: scripts/nightly: nights in a row, one killed, one with a full disk, one whose canary is not found.
set -u
bin=$1 src=$2 part=$3 self=$(realpath "$0")
. "$(dirname "$0")/shell.sh"
cd "$tmp" || exit 1
night() { "$src/scripts/nightly" --db n.db --binary "$bin" "$@" >out 2>err; }
compiler() { # compiler VERSION [WRONG]: its sums are differences
	sed "s/^__version__.*/__version__ = \"$1\"/" "$src/examples/closure_compiler.py" >c.py
	[ $# = 1 ] || echo 'OPS["aten.add.Tensor"] = pointwise(operator.sub)' >>c.py
}
python="--target python:c.py -- --policy forward --ops add.Tensor,clone --dtypes f32"
whole() { # whole WHAT: the store is
	expect "$1: integrity" ok "$(sqlite3 n.db 'pragma integrity_check')"
	expect "$1: a finding per signature and kind" 0 "$(sql "select count(*) - count(distinct kind || signature) from v_findings" n.db)"
	expect "$1: nothing is left over" "n.db n.db.lock n.db.night" "$(ls -d n.db* | xargs)"
}

told() { # of how many causes, and of how many findings without one, the summary tells
	local causes without
	causes=$(grep -cE '^(### |\* )[0-9a-f]{8}: (high|normal|trivial), ' n.db.night/summary.md)
	without=$(sed -n 's/^## Not triaged yet: \([0-9]*\) findings\{0,1\}$/\1/p' n.db.night/summary.md)
	echo "$((causes + without))"
}

three() { # new, then known and one killed in the middle, then gone
	compiler 1.0 wrong
	night --time 200s --seed 5 $python --programs 30
	expect "the first night" 1 $?
	whole "first"
	n=$(sql "select count(*) from v_findings" n.db)
	has "its summary" n.db.night/summary.md "^## New: ([1-9][0-9]+ causes|[2-9] causes|1 cause)$"
	has "exit code" n.db.night/summary.md "^Exit code 1: findings that nobody has marked\.$"
	has "no finding is left over" n.db.night/summary.md "^## Not triaged yet: 0 findings$"
	has "what upstream knows" n.db.night/summary.md "^\* upstream's bugs \(mark-known\): not run: no target is of torch$"
	has "triage prints commands" n.db.night/triage.txt "scatterproof repro [0-9a-f]{8} --db n.db( |$)"
	hasnt "of the store that stays" n.db.night/triage.txt "n.db.new"
	has "the canary" n.db.night/summary.md "^\* the canary was found$"
	for id in $(sed -n 's/^### \([0-9a-f]*\): .*/\1/p' n.db.night/summary.md); do
		"$bin" check "n.db.night/report/$id/program.prog" --target python:c.py >out 2>&1
		expect "the program of $id fails" 1 $?
	done
	for id in $(sql "select id from v_findings" n.db); do
		"$bin" findings mark "$id" known --issue https://example.org/1 --db n.db >out
	done
	cp n.db before.db
	setsid "$src/scripts/nightly" --db n.db --binary "$bin" --time 200s --seed 6 $python >out 2>err &
	for _ in $(seq 400); do # until it has counted something
		sleep 0.2
		[ -s n.db.new ] && [ "$(sql "select coalesce(sum(n), 0) >= 20 from v_counters where seed = 6" n.db.new 2>/dev/null)" = 1 ] && break
	done
	kill -KILL -- -$!
	wait $! 2>/dev/null
	expect "the store is what it was" "$(cksum <before.db)" "$(cksum <n.db)"
	has "what the night has is there" <(ls) "^n.db.new$"
	killed=$(sql "select sum(n) from v_counters where seed = 6 and policy = 'forward'" n.db.new)
	night --time 200s --seed 7 $python --programs 30
	expect "others are new, as the killed night found them" yes "$([ $? -le 1 ] && echo yes)"
	has "it goes on" err "^nightly: the last night was interrupted"
	whole "second"
	has "known ones" n.db.night/summary.md "^\* known before, run again: $n: $n still there"
	has "by name" n.db.night/summary.md "^\* [0-9a-f]{8} known, high: .* https://example.org/1$"
	expect "what the killed night counted is counted once" "$killed 30" \
		"$(sql "select group_concat(n, ' ') from (select sum(n) as n from v_counters where seed in (6, 7) and policy = 'forward' group by seed order by seed)" n.db)"
	compiler 2.0
	night --time 200s --seed 8 $python --programs 30
	expect "nothing is wrong any more" 0 $?
	whole "third"
	has "the summary asks" n.db.night/summary.md "^## No longer happens: $n$"
	has "what is gone" n.db.night/summary.md "is it fixed\? .scatterproof findings mark [0-9a-f]{8} fixed-in"
	for id in $(sql "select id from v_findings" n.db); do
		"$bin" findings mark "$id" fixed-in 2.0 --db n.db >out
	done
	compiler 2.1 wrong
	night --time 200s --seed 9 $python --programs 5
	expect "it is back" 1 $?
	has "the summary says so" n.db.night/summary.md "^## Regressed: [1-9]"
	whole "fourth"
}

sighted() { # an older finding that triage runs again, where it was found, is not seen again by this night
	"$bin" fuzz --target builtin:passes+defect=gradient_summed_twice --programs 120 --seed 5 --db n.db >out 2>err
	expect "an older campaign, of another target" 1 $?
	older=$(sql "select id from v_causes" n.db)
	night --target builtin:eager --time 100s --seed 6 -- --programs 20
	has "triage ran it" <(sql "select count(*) > 0 from v_events where kind = 'minimised'" n.db) "^1$"
	has "and saw it" <(sql "select count(*) > 0 from v_observations o join v_runs r on r.full_id = o.run where r.policy = 'triage'" n.db) "^1$"
	has "but this night did not" n.db.night/summary.md "^## Open, seen again: 0 causes$"
	has "nor is it new" n.db.night/summary.md "^## New: 0 causes$"
	hasnt "nor named" n.db.night/summary.md "$(tr '\n' '|' <<<"$older" | sed 's/|$//')"
	night --target builtin:passes+defect=gradient_summed_twice --time 100s --seed 5 -- --programs 120
	has "a campaign that meets it does" n.db.night/summary.md "^## Open, seen again: ([1-9][0-9]+ causes|[2-9] causes|1 cause)$"
}

full() { # a file size limit, as a full disk; the next night has what was found
	zero="--target builtin:eager+plant=zero"
	(ulimit -f 600 && night $zero --time 200s --seed 5) # ends when the disk is full
	expect "exit with a full disk" 3 $?
	has "it says so" err "nightly: the campaign ended with 3: .*the disk is full"
	found=$(for db in n.db n.db.new; do [ ! -s $db ] || sql "select full_id from v_findings" $db; done | sort -u)
	expect "something was found" yes "$([ "$(wc -l <<<"$found")" -gt 5 ] && echo yes)"
	has "it is to be told of" <(ls) "^n.db.since$"
	(ulimit -f 20 && night $zero --time 200s --seed 6 -- --programs 10)
	expect "no room at all" 3 $?
	expect "integrity" ok "$(sqlite3 n.db 'pragma integrity_check')"
	night $zero --time 200s --seed 7 -- --programs 60
	expect "with room" 1 $?
	whole "then"
	expect "nothing was lost" "" "$(comm -23 <(echo "$found") <(sql "select full_id from v_findings" n.db | sort))"
	expect "all of it is in the summary" "$(sql "select count(*) from v_causes" n.db)" "$(told)"
}

disk() { # a disk that is full: a tmpfs of a mount namespace of this test's own
	if [ "${NIGHTLY_NAMESPACE:-}" != yes ]; then
		for as in -m -rm; do # as root, else as root of a user namespace
			unshare $as mount -t tmpfs -o size=1m none "$tmp" 2>/dev/null || continue
			NIGHTLY_NAMESPACE=yes unshare $as "$self" "$bin" "$src" disk
			exit
		done
		echo "SKIPPED: no tmpfs can be mounted here"
		exit 77
	fi
	mkdir disk && mount -t tmpfs -o size=1400k none disk && cd disk || exit 1
	zero="--target builtin:eager+plant=zero"
	night $zero --time 200s --seed 5 # ends when the disk is full
	expect "exit with a full disk" 3 $?
	expect "it is full" yes "$([ "$(df --output=avail . | tail -1)" -lt 700 ] && echo yes)"
	expect "what is stored is whole" ok "$(sqlite3 n.db.new 'pragma integrity_check')"
	found=$(sql "select full_id from v_findings" n.db.new | sort)
	expect "something was found" yes "$([ "$(wc -l <<<"$found")" -ge 3 ] && echo yes)"
	has "the summary says so" n.db.night/summary.md "^Exit code 3: a target, a disk or the store failed\.$"
	expect "what was found is in it" "$(sql "select count(*) from v_causes" n.db.new)" "$(told)"
	has "what could not be stored is in the log" n.db.night/campaign.log "^# scatterproof 1$"
	head -c 2M /dev/zero >filler 2>/dev/null
	night $zero --time 200s --seed 6 -- --programs 10
	expect "no room to begin" 3 $?
	expect "still whole" ok "$(sqlite3 n.db.new 'pragma integrity_check')"
	hasnt "no summary of another night" <(cat n.db.night/summary.md 2>/dev/null) "seed 5$"
	rm filler
	mount -o remount,size=64m none . || exit 1
	night $zero --time 200s --seed 7 -- --programs 60
	expect "with room" 1 $?
	whole "then"
	expect "nothing was lost" "" "$(comm -23 <(echo "$found") <(sql "select full_id from v_findings" n.db | sort))"
	expect "all of it is in the summary" "$(sql "select count(*) from v_causes" n.db)" "$(told)"
	cd "$tmp" && umount disk
}

ended() { # SIGTERM: what is there is merged and told of, the exit code says so; a canary that is not found; one night at a time
	"$src/scripts/nightly" --db n.db --binary "$bin" --time 60s --seed 5 --target builtin:eager+plant=zero >out 2>err &
	for _ in $(seq 400); do
		sleep 0.2
		[ -s n.db.new ] && [ "$(sql "select count(*) >= 3 from v_findings" n.db.new 2>/dev/null)" = 1 ] && break
	done
	NIGHTLY_WAIT=0 "$src/scripts/nightly" --db n.db --binary "$bin" --time 1s --target builtin:eager >out2 2>err2
	expect "another one meanwhile" 3 $?
	has "it says so" err2 "^error: another night works on n.db$"
	kill -TERM $!
	wait $!
	expect "SIGTERM" 143 $?
	expect "integrity" ok "$(sqlite3 n.db 'pragma integrity_check')"
	has "merged" <(sql "select count(*) >= 3 from v_findings" n.db) "^1$"
	has "what triage did not come to is no cause" n.db.night/summary.md "^## New: 0 causes$"
	expect "told of" "$(sql "select count(*) from v_causes" n.db)" "$(told)"
	has "what to do" n.db.night/summary.md "^\* [0-9]+ findings not triaged yet: .scatterproof triage --db n.db. goes on"
	has "told of" n.db.night/summary.md "^Exit code 143: interrupted by signal 15\.$"
	has "and told again when it went on" <(ls) "^n.db.since$"
	before=$(sql "select count(*) from v_findings" n.db)
	NIGHTLY_CANARY=noop_without_update night --target builtin:eager+plant=zero --time 5s --seed 5
	expect "the canary is not found" 4 $?
	has "it says so" err "the canary, a planted defect, was not found"
	has "in the summary, too" n.db.night/summary.md "the canary was not found"
	expect "and nothing ran" "$before" "$(sql "select count(*) from v_findings" n.db)"
	"$src/scripts/nightly" --db x.db --binary "$bin" --time nonsense >out 2>&1
	expect "no time" 2 $?
	"$src/scripts/nightly" --binary "$bin" >out 2>&1
	expect "no store" 2 $?
	"$src/scripts/nightly" --db x.db --binary "$bin" --time 2s --target torch-9.9:eager >out 2>&1
	expect "no target" 3 $?
	"$src/scripts/nightly" --db x.db --binary "$bin" --time 2s --target nonsense:eager >out 2>&1
	expect "no such target" 2 $?
}

many() { # thousands of causes and of findings without one: the summary is short
	"$bin" fuzz --target builtin:passes+defect=gradient_summed_twice --programs 120 --seed 5 --db n.db >out 2>err
	expect "a campaign" 1 $?
	mkdir n.db.night
	cat >few.py <<-'end'
		import json, sys
		rows = [json.loads(line) for line in sys.stdin]
		title = "some `code` | <b>and</b> more " * 100
		program = "# a line of a program\n" * 300
		for i in range(3000):
		    sort = {"triaged": i % 2 == 0, "severity": "high" if i % 100 == 0 else "normal", "reach": "torch"}
		    print(json.dumps({**rows[0], **sort, "id": f"{i:08x}", "full_id": f"{i:032x}", "ids": f"{i:08x}", "title": title, "program": program,
		                      "kind": "raised" if i % 3 else "mismatch", "blame": "guilty " * 5000, "signature": f"no {i} of {title}"}))
	end
	"$bin" findings causes --all --json --db n.db | python3 few.py >rows
	cat >fake <<-end
		#!/bin/sh
		case "\$1 \$2" in
		"findings causes") cat rows ;;
		"report "*) for word; do [ "\${#word}" = 32 ] && echo "\$word"; done >asked ;;
		*) exec "$bin" "\$@" ;;
		esac
	end
	chmod +x fake
	python3 "$src/scripts/night_summary.py" --binary ./fake --db n.db --since 0 --out n.db.night --exit-code 1 --canary 0 --triage 0 --seed 5 \
		--marked "not run: x" >out 2>err
	expect "a summary" 0 $?
	local summary=n.db.night/summary.md
	expect "it is short" yes "$([ "$(wc -c <$summary)" -lt $((900 << 10)) ] && echo yes)"
	has "the causes" $summary "^## New: 1500 causes$"
	expect "with programs" 20 "$(grep -c '^### ' $summary)"
	expect "with a line" 100 "$(sed -n '/^## New/,/^## Regressed/p' $summary | grep -cE '^\* [0-9a-f]{8}: ')"
	has "then a count" $summary "^\* and 1380 more$"
	expect "the serious first" "$(printf '%08x' 0)" "$(sed -n 's/^### \([0-9a-f]*\):.*/\1/p' $summary | head -1)"
	has "what to do" <(head -7 $summary) "^## What to do now$"
	expect "in a few lines" 10 "$(sed -n '/^## What to do/,/^## The night/p' $summary | grep -c '^\* ')"
	has "the last of them" $summary "^\* 1500 findings not triaged yet: .*Most of these may be one bug: 1000 of 1500 are raised on builtin:passes$"
	has "findings without a cause" $summary "^## Not triaged yet: 1500 findings$"
	has "by sort" $summary "^\| builtin:passes \| raised: no N of .* \| 1000 \|$"
	expect "the smallest" 5 "$(grep -c '^#### ' $summary)"
	expect "pages" 1550 "$(wc -l <asked)"
}

case $part in
many) many ;;
three) three ;;
sighted) sighted ;;
full) full ;;
disk) disk ;;
ended) ended ;;
*) echo "unknown part $part"; exit 2 ;;
esac
end
