#!/bin/bash
# planted.sh BIN SOURCE PART: scripts/planted on faults of the built-in interpreter: the table, what it says twice, what it refuses.
set -u
. "$(dirname "$0")/shell.sh"
cd "$tmp" || exit 1
planted() { "$src/scripts/planted" --binary "$bin" "$@" >out 2>err; }

builtin() { # a table with figures, and the same from what is left in the folder
	planted --builtin --faults zero,scale --programs 60 --seed 5 --time 60s --jobs 1 --cores 1 --out there
	expect "exit code" 0 $?
	has "a row" out '^\| zero \| [1-9][0-9]* \| [1-9][0-9]* \| [1-9][0-9]* \| [0-9.]+, [0-9]+ \| [0-9.]+, [0-9]+ \| - \| - \| [0-9]+ \|$'
	has "figures" out '^homogeneity [01]\.[0-9]{3}, completeness [01]\.[0-9]{3}: [0-9]+ findings, [0-9]+ causes, 2 of 2 faults$'
	n=$(sql "select count(*) from v_events where kind = 'cause'" there/zero/findings.db)
	expect "findings" "$n" "$(awk -F' *[|] *' '$2 == "zero" { print $4 }' out)"
	n_causes=$(sql "select count(distinct cause) from v_causes" there/zero/findings.db)
	expect "causes" "$n_causes" "$(awk -F' *[|] *' '$2 == "zero" { print $5 }' out)"
	cp out first
	planted --table there
	expect "the table again" 0 $?
	expect "is the same" "$(cat first)" "$(cat out)"
	id=$(sql "select id from v_findings limit 1" there/zero/findings.db)
	sed -i "/$id.prog/s/\"verdict\":\"pass\"/\"verdict\":\"mismatch\"/" there/zero/sound.json
	planted --table there
	has "what fails without the fault is apart" out '^\| zero \| .* \| 1 real \| [0-9]+ \|$'
	expect "and does not count" $((n - 1)) "$(awk -F' *[|] *' '$2 == "zero" { print $4 }' out)"
	rm there/zero/sound.json
	planted --table there
	has "what was not asked, neither" out "^\| zero \| .* \| $n not checked \| [0-9]+ \|$"
	has "too few" out '^[0-9]+ findings of 1 fault: too few for figures$'
}

stopped() { # SIGTERM: what there is, is printed, then and later
	"$src/scripts/planted" --binary "$bin" --builtin --faults zero,row --time 100s --findings 100000 --jobs 1 --cores 1 --out there >out 2>err &
	for _ in $(seq 100); do
		sleep 0.2
		[ -s there/zero/campaign.json ] && break
	done
	kill -TERM $!
	wait $!
	expect "exit code" 143 $?
	has "it says so" err '^zero: stopped$'
	has "the table" out '^\| zero \| [1-9][0-9]* \| 0 \| 0 \| - \| - \| - \| [1-9][0-9]* no cause \|'
	hasnt "nothing else begins" err '^row: begins'
	expect "the store is whole" ok "$(sqlite3 there/zero/findings.db 'pragma integrity_check')"
	cp out first
	planted --table there
	expect "again" "$(cat first)" "$(cat out)"
}

usage() { # what cannot be
	planted --faults nonsense
	expect "no such fault" 2 $?
	has "it says which there are" err "there is no fault 'nonsense'; there are: .*amax_is_amin"
	planted --table "$tmp"
	expect "no run there" 2 $?
	has "it says so" err 'holds no run of scripts/planted$'
	planted --builtin --faults zero --time 0
	expect "no time" 2 $?
	planted --list
	expect "a list" 0 $?
	has "with what each is like" out '^amax_is_amin: The wrong row of a table'
	mkdir -p theirs/zero && echo mine >theirs/zero/file
	planted --builtin --faults zero --out theirs
	expect "a folder of somebody else's" 2 $?
	expect "is left alone" mine "$(cat theirs/zero/file)"
	"$src/scripts/planted" --binary "$tmp/none" --builtin --out x >out 2>err
	expect "no binary" 3 $?
	printf '#!/bin/sh\nexit 3\n' >broken
	chmod +x broken
	planted --python "$tmp/broken" --faults amax_is_amin --out bad
	expect "a Python that does not start" 3 $?
	has "its row says so" out '^\| amax_is_amin \| none \| .*could not be planted'
}

$part
end
