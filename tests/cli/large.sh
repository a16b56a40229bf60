#!/usr/bin/env bash
# A large store, made small: that `bench store` measures what it says. Never how fast.
. "$(dirname "$0")/shell.sh"

case $part in
store)
	TMPDIR=$tmp "$bin" bench store --findings 120 --observations 3000 --causes 9 --seed 5 --keep "$tmp/k.db" --json >"$tmp/out" 2>"$tmp/err"
	expect "exit" 0 $?
	expect "complaints" "" "$(cat "$tmp/err")"
	rows() { sed -n "s/.*\"name\": \"$1\".*\"rows\": \([0-9]*\).*/\1/p" "$tmp/out"; }
	# The store says the same by other ways, and the sizes are those that were asked for.
	expect "findings" 120 "$(rows v_findings)"
	expect "findings in the store" 120 "$(sql "select count(*) from finding" "$tmp/k.db")"
	expect "observations" 3000 "$(sql "select sum(n) from observation_count" "$tmp/k.db")"
	expect "rows of observations" 2400 "$(sql "select count(*) from observation" "$tmp/k.db")"
	expect "causes" 9 "$(sql "select count(distinct cause) from v_causes where cause not like '%not triaged%'" "$tmp/k.db")"
	expect "causes and what has none" "$(rows v_causes)" "$(sql "select count(*) from v_causes" "$tmp/k.db")"
	expect "causes in their order" "$(rows 'findings causes')" "$(sql "select count(*) from v_causes" "$tmp/k.db")"
	expect "open findings" "$(rows v_open)" "$(sql "select count(*) from v_findings f join finding_state s on s.name = f.state where s.open" "$tmp/k.db")"
	expect "operators and dtypes" "$(rows v_tried)" "$(sql "select count(*) from v_tried" "$tmp/k.db")"
	expect "observations of a finding" 20 "$(rows 'v_observations of a finding')"
	expect "merged into an empty store" 120 "$(rows 'merge into an empty store')"
	expect "merged with one of which half is new" 180 "$(rows 'merge with one of which half is new')"
	for view in $(sql "select name from sqlite_schema where type = 'view' and name glob 'v_*'" "$tmp/k.db"); do
		has "$view is measured" "$tmp/out" "\"name\": \"$view[\" ,]"
	done
	# It is a store like any other.
	expect "what a summary says" 0 "$(sql "select count(*) from (select * from finding_now except select * from finding_summary)" "$tmp/k.db")"
	"$bin" bench store --db "$tmp/k.db" --json >"$tmp/out" 2>"$tmp/err"
	expect "a store that is there" 0 $?
	expect "is read" "$(sql "select count(*) from v_causes" "$tmp/k.db")" "$(rows 'findings causes')"
	hasnt "it is not merged" "$tmp/out" merge
	"$bin" merge "$tmp/k.db" --into "$tmp/m.db" >"$tmp/out" 2>&1
	expect "merge checks keys" 0 $?
	has "merge" "$tmp/out" '120 findings, 120 of them new'
	id=$(sql "select id from v_findings where minimised limit 1" "$tmp/k.db")
	"$bin" findings show "$id" --db "$tmp/k.db" >"$tmp/out" 2>&1
	expect "show" 0 $?
	expect "nothing is left behind" "" "$(find "$tmp" -name 'scatterproof-child-*')"
	;;
usage)
	"$bin" bench store --findings 10 --observations 100 --causes 9 >"$tmp/out" 2>"$tmp/err"
	expect "more causes than findings" 2 $?
	has "more causes than findings" "$tmp/err" 'a store of 10 findings has at most 2 causes'
	"$bin" bench store --db "$tmp/none.db" >"$tmp/out" 2>"$tmp/err"
	expect "a store that is not there" 2 $?
	echo text >"$tmp/there"
	"$bin" bench store --findings 10 --observations 100 --causes 2 --keep "$tmp/there" >"$tmp/out" 2>"$tmp/err"
	expect "a file that is there" 2 $?
	has "a file that is there" "$tmp/err" 'is there already'
	expect "it stays" text "$(cat "$tmp/there")"
	;;
*) expect "part" "" "$part" ;;
esac
end
