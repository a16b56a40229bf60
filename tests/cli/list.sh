#!/bin/bash
# list.sh BIN SOURCE PART FINDING_OF: lists and pages of findings and causes, what is taken for an id, marks of several, the pager, colours,
# help, manual pages and completion. Needs no PyTorch.
set -u
finding_of=$4
. "$(dirname "$0")/shell.sh"
run() { "$bin" "$@" >"$tmp/out" 2>"$tmp/err"; }
unset COLUMNS NO_COLOR PAGER LESS
printf '# scatterproof 1\nx = input([3], seed=1)\ny = add.Tensor(x, x)\nreturn (y,)\n' >"$tmp/add.prog"
printf '# scatterproof 1\nx = input([3], seed=1)\ny = sin(x)\nz = mul.Tensor(y, y)\nreturn (z,)\n' >"$tmp/mul.prog"
printf '# scatterproof 1\nx = input([4, 4], seed=1)\ny = relu(x)\nreturn (y,)\n' >"$tmp/relu.prog"
made() { # made DB: three findings: two of one signature and kind, which are one cause, and one of another
	"$finding_of" --as "value all zero same" torch-2.11.0:inductor@cpu "$1" torch-2.11.0:inductor@cpu value mismatch "$tmp/add.prog" "out 0 (y)" 0 | head -1
	"$finding_of" --as "value all zero same" torch-2.15.0:inductor@cpu "$1" torch-2.15.0:inductor@cpu value mismatch "$tmp/mul.prog" "out 0 (z)" 0 | head -1
	"$finding_of" --as "raise N of N" torch-2.11.0:aot_eager@cpu "$1" torch-2.11.0:aot_eager@cpu raise mismatch "$tmp/relu.prog" "" 0 | head -1
}
columns() { # columns WIDTH FILE: the lines that are longer
	python3 -c 'import sys, unicodedata
for line in open(sys.argv[2], encoding="utf-8"):
    line = line.rstrip("\n")
    n = sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
    if n > int(sys.argv[1]):
        print(n, line)' "$1" "$2"
}

fits() { # lists fit their width; in a pipe they are whole
	ids=($(made "$tmp/f.db"))
	expect "three findings" 3 "${#ids[@]}"
	wide=$'値が全部ゼロ になった値が全部ゼロになった値が全部ゼロになった e\xcc\x81 and much more text than a line of a terminal has room for'
	"$finding_of" --as "$wide" torch-2.11.0:inductor@cpu "$tmp/f.db" torch-2.11.0:inductor@cpu gradient mismatch "$src/corpus/seeds/slice_scatter_f32_2x8x16_0_4.prog" x.grad 0 >"$tmp/out"
	run findings causes --db "$tmp/f.db"
	expect "causes" 0 $?
	has "a head" "$tmp/out" '^ +sev +title +stage +versions +seen +state *$'
	has "versions of all its findings" "$tmp/out" '^ *[123]  high +.* inductor@cpu +2.11 2.15 +2  candidate$'
	has "how many" "$tmp/out" '^0 open causes, and 4 findings without one yet$'
	hasnt "nothing is cut" "$tmp/out" '…'
	for width in 80 40 25; do
		for list in "findings causes" "findings" "findings causes 1" "findings causes 3" "findings --help" "sweep --help" "--help"; do
			COLUMNS=$width "$bin" $list --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err" || COLUMNS=$width "$bin" $list >"$tmp/out" 2>"$tmp/err"
			grep -vE '^ *(scatterproof|usage:) |^  *\||^(x|y|z|g|return|backward|call|slice_scatter|sum(_1)?)\b|^ +[A-Z,]+=|--' "$tmp/out" >"$tmp/lines" # commands and programs, which people paste
			expect "$list in $width columns: lines that are longer" "" "$(columns $width "$tmp/lines")"
			expect "$list in $width columns: says something" yes "$([ -s "$tmp/lines" ] && echo yes)"
		done
	done
	COLUMNS=80 run findings causes --db "$tmp/f.db"
	expect "one line each" 3 "$(grep -cE '^ *[123]  (high|normal) ' "$tmp/out")"
	COLUMNS=60 run findings --db "$tmp/f.db"
	has "a signature that is cut" "$tmp/out" '値.*…$'
	expect "one line each, and a head" 5 "$(wc -l <"$tmp/out")"
	run findings causes --limit 2 --db "$tmp/f.db"
	expect "--limit" 2 "$(grep -cE '^ *[123]  (high|normal) ' "$tmp/out")"
	has "what is left out" "$tmp/out" '^0 open causes, and 4 findings without one yet; 1 not shown \(--limit\)$'
	run findings causes --limit 1 --json --db "$tmp/f.db"
	expect "--limit --json" 1 "$(wc -l <"$tmp/out")"
	run findings causes --json --db "$tmp/f.db"
	expect "as JSON" "3 2 torch-2.11.0:inductor@cpu True" "$(python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
same = [r for r in rows if "same" in r["signature"]][0]
print(len(rows), same["nfindings"], same["target"], same["versions"] == "2.11.0 2.15.0" and same["number"] in (1, 2, 3))' "$tmp/out")"
	n=$("$bin" findings causes --json --db "$tmp/f.db" | sed -n 's/^{"number": \([0-9]\), .*"kind": "raise".*/\1/p')
	run findings causes "$n" --db "$tmp/f.db"
	has "a page" "$tmp/out" "^cause $n, high, candidate$"
	has "a title" "$tmp/out" '^`relu`: raises "chosen" with .*$'
	has "its program" "$tmp/out" '^y: "f32\[4, 4\]\[4, 1\]" = relu\(x\)$'
	has "its finding" "$tmp/out" "^  ${ids[2]} "
	has "its history" "$tmp/out" "^history of ${ids[2]}$"
	has "a command" "$tmp/out" "^  scatterproof repro ${ids[2]} --db "
	run findings causes "${ids[2]}" --db "$tmp/f.db"
	has "by the id of its finding" "$tmp/out" "^cause $n, high"
}

variants() { # one bug in several sorts is one cause, unless versions tell them apart
	ids=($(for f in add mul relu; do "$finding_of" --as "value $f" torch-2.11.0:inductor@cpu "$tmp/f.db" torch-2.11.0:inductor@cpu value mismatch "$tmp/$f.prog" "out 0" 0 | head -1; done))
	tell() { # tell ID CAUSE CURE: as an older scatterproof blamed it
		python3 - "$tmp/f.db" "$@" <<-'END'
			import os, sqlite3, sys
			path, finding, cause, cure = sys.argv[1:]
			facts = '{"predicted": {"op": "aten.x", "fake": {"size": [2], "stride": [0]}, "real": {"size": [2], "stride": [1]}}}'
			with sqlite3.connect(path) as db:
			    (finding,) = db.execute("select id from finding where lower(hex(id)) like ?", (finding + "%",)).fetchone()
			    for kind, text in (("cause", cause), ("cure", cure)):
			        db.execute("insert into event (id, finding, at, kind, tool, payload) values (?, ?, 9, ?, 'test', ?)", (os.urandom(16), finding, kind, text))
			    db.execute("insert into artifact (id, finding, name, at, bytes) values (?, ?, 'facts', 9, ?)", (os.urandom(16), finding, facts.encode()))
			    db.execute("update finding_summary set cause = ? where finding = ?", (cause, finding))
		END
	}
	layout="torch:inductor: layout predicted wrong; aten"
	tell "${ids[0]}" "$layout.slice_scatter" probe.clone=bw:aten.slice_scatter.default
	tell "${ids[1]}" "$layout.select_scatter" probe.clone=fw:aten.select_scatter.default
	tell "${ids[2]}" "$layout.diagonal_scatter" probe.fallback=aten.diagonal_scatter.default
	cp "$tmp/f.db" "$tmp/since.db"
	run triage --db "$tmp/f.db"
	expect "triage again" 0 $?
	has "it says so" "$tmp/err" '^1 finding got another cause, by what is known now$'
	expect "two are one" "1 2" "$(sql "select nfindings from v_causes order by 1" "$tmp/f.db" | paste -sd' ')"
	run findings causes "${ids[1]}" --db "$tmp/f.db"
	has "the page has both" <(tr '\n' ' ' <"$tmp/out") "its variants   ${ids[0]} $layout.slice_scatter   ${ids[1]} $layout.select_scatter  history of"
	run findings causes "${ids[1]}" --json --db "$tmp/f.db"
	expect "as JSON" "$layout.slice_scatter ${ids[0]},$layout.select_scatter ${ids[1]}" "$(python3 -c 'import json, sys
print(",".join(v["cause"] + " " + v["ids"] for v in json.load(sys.stdin)["variants"]))' <"$tmp/out")"
	run findings causes "${ids[2]}" --json --db "$tmp/f.db"
	hasnt "a cause of one sort has none" "$tmp/out" '"variants"'
	run report --db "$tmp/f.db" -o "$tmp/dir"
	has "the issue" <(cat "$tmp"/dir/*/issue.md) "^\* .$layout.select_scatter., in 1 finding$"
	has "its JSON" <(cat "$tmp"/dir/*/cause.json) "\"variants\": \[\{\"cause\": \"$layout.slice_scatter\", \"ids\": \[\"${ids[0]}\"\]\}, "
	run triage --db "$tmp/f.db"
	hasnt "it stays so" "$tmp/err" 'another cause'
	n=$(sql "select number from v_causes where nfindings = 2" "$tmp/f.db")
	run findings mark "$n" known --issue https://example.org/1 --db "$tmp/f.db"
	expect "a mark of the cause is one of both" "$(printf '%s\n' "${ids[@]:0:2}" | sort)" "$(sql "select id from v_findings where state = 'known' order by id" "$tmp/f.db")"
	for i in 0 1; do
		verdict=$([ $i = 0 ] && echo passes || echo fails)
		program=$(sql "select program from v_causes where id = '${ids[$i]}'" "$tmp/since.db")
		python3 - "$tmp/since.db" "${ids[$i]}" "{\"program\": \"$program\", \"versions\": [{\"version\": \"2.15.0\", \"verdict\": \"$verdict\"}]}" <<-'END'
			import os, sqlite3, sys
			path, finding, text = sys.argv[1:]
			with sqlite3.connect(path) as db:
			    db.execute("insert into artifact select ?, id, 'since', 9, ? from finding where lower(hex(id)) like ?", (os.urandom(16), text.encode(), finding + "%"))
		END
	done
	run triage --db "$tmp/since.db"
	expect "who fails on other versions stays apart" 3 "$(sql "select count(*) from v_causes" "$tmp/since.db")"
}

names() { # a cause's number wherever an id is taken; words that name nothing
	ids=($(made "$tmp/f.db"))
	n=$("$bin" findings causes --json --db "$tmp/f.db" | sed -n 's/^{"number": \([0-9]\), .*"kind": "raise".*/\1/p')
	run findings show "$n" --db "$tmp/f.db"
	has "show" "$tmp/out" "^finding ${ids[2]}: "
	while read -r words; do
		run $words 99 --db "$tmp/f.db" --target builtin:eager
		expect "$words 99" 2 $?
		has "$words 99" "$tmp/err" "no cause 99: numbers go from 1 to 3$"
		run $words "$n" --db "$tmp/f.db" --target builtin:eager
		hasnt "$words $n" "$tmp/err" "no cause|no finding"
	done <<-END
		repro
		confirm
		minimize
		blame
		sweep
	END
	run findings show 99 --db "$tmp/f.db"
	expect "show 99" 2 $?
	has "show 99" "$tmp/err" "no cause 99: numbers go from 1 to 3$"
	run triage 99 --db "$tmp/f.db"
	expect "triage 99" 2 $?
	has "triage 99" "$tmp/err" "no cause 99: numbers go from 1 to 3$"
	run repro "$n" --db "$tmp/f.db" --target builtin:eager --no-store
	expect "repro of a cause that does not happen there" 0 $?
	has "it is about the representative" "$tmp/out" "^${ids[2]} on builtin:eager: does not happen"
	run findings causes 99 --db "$tmp/f.db"
	expect "no such cause" 2 $?
}

marks() { # several, causes; all or nothing
	ids=($(made "$tmp/f.db"))
	states() { sql "select group_concat(state, ' ') from (select state from v_findings order by state)" "$tmp/f.db"; }
	raise=$("$bin" findings causes --json --db "$tmp/f.db" | sed -n 's/^{"number": \([0-9]\), .*"kind": "raise".*/\1/p')
	same=$("$bin" findings causes --json --db "$tmp/f.db" | sed -n 's/^{"number": \([0-9]\), .*"kind": "value".*/\1/p')
	cp "$tmp/f.db" "$tmp/before.db"
	while IFS='|' read -r words sentence; do
		run findings mark $words --db "$tmp/f.db"
		expect "mark $words" 2 $?
		has "mark $words" "$tmp/err" "^scatterproof findings: $sentence"
		expect "mark $words: the error comes last" "$(tail -1 "$tmp/err")" "$(grep '^scatterproof findings:' "$tmp/err")"
		expect "mark $words: says nothing else" "" "$(cat "$tmp/out")"
	done <<-END
		${ids[0]} ${ids[1]} 0123456789 known|no finding in
		${ids[0]} 99 known|no cause 99: numbers go from 1 to 3
		${ids[0]} known --issue example.org/1|--issue: 'example.org/1' is no URL
		${ids[0]} known --issue ftp://example.org|--issue: .* is no URL
		${ids[0]} known --issue https://|--issue: .* is no URL
		${ids[0]} fixed-in 2.15.0 ${ids[1]}|'${ids[1]}' is not understood: ids stand before the state
		${ids[0]} ${ids[1]} knwon|mark needs open, known, .* not 'knwon'; did you mean 'known'\? \(try 
		${ids[0]} dismissed 2.15.0|'2.15.0' is not understood: only fixed-in takes a version
		${ids[0]} ${ids[1]}|mark needs open, known
		${ids[0]}|mark needs open, known
		${ids[2]} ${ids[0]} duplicate --of ${ids[0]}|a finding is no duplicate of itself
	END
	"$bin" findings mark "${ids[0]}" known --issue "https://example.org/a b" --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err"
	expect "a URL with a blank" 2 $?
	expect "nothing is marked" "candidate candidate candidate" "$(states)"
	expect "nothing is written" "$(sql "select count(*) from v_events" "$tmp/before.db")" "$(sql "select count(*) from v_events" "$tmp/f.db")"
	run findings mark "${ids[0]}" "${ids[2]}" "${ids[0]}" known --issue https://example.org/1 --db "$tmp/f.db"
	expect "two, one of them named twice" 0 $?
	has "how many" "$tmp/out" "^2 findings marked$"
	expect "they are" "candidate known known" "$(states)"
	expect "with the issue" 2 "$(sql "select count(*) from v_events where issue = 'https://example.org/1'" "$tmp/f.db")"
	same=$("$bin" findings causes --all --json --db "$tmp/f.db" | sed -n 's/^{"number": \([0-9]\), .*"kind": "value".*/\1/p')
	run findings mark "$same" fixed-in 2.16.0 --db "$tmp/f.db"
	expect "a cause" 0 $?
	has "of which it is said how many findings it has" "$tmp/out" "^cause $same has 2 findings$"
	expect "all of them are" "fixed-in fixed-in known" "$(states)"
	run findings causes --db "$tmp/f.db"
	has "no cause is open" "$tmp/out" '^0 open causes; 2 without an open finding \(--all shows them\)$'
	run findings causes --all --db "$tmp/f.db"
	has "all are shown" "$tmp/out" 'fixed-in$'
	same=$("$bin" findings causes --all --json --db "$tmp/f.db" | sed -n 's/^{"number": \([0-9]\), .*"kind": "value".*/\1/p')
	run findings mark "$same" duplicate --of "${ids[0]}" --db "$tmp/f.db"
	expect "the others of a cause, duplicates of one" 0 $?
	expect "but not of itself" "duplicate fixed-in known" "$(states)"
}

filters() { # --op, --op-any, --new-since
	"$finding_of" --as one torch-2.11.0:inductor@cpu "$tmp/f.db" torch-2.11.0:inductor@cpu value mismatch "$tmp/add.prog" "out 0 (y)" 0 "$tmp/mul.prog" "out 0 (z)" 0 >"$tmp/out"
	count() { "$bin" findings --json --db "$tmp/f.db" "$@" | wc -l; }
	expect "--op of its first program" 1 "$(count --op add)"
	expect "--op of another program" 0 "$(count --op mul)"
	expect "--op-any of another program" 1 "$(count --op-any mul)"
	expect "--op-any of both" 1 "$(count --op-any mul,add)"
	expect "first seen in 1970" 0 "$(count --new-since 2020-01-01)"
	expect "first seen since then" 1 "$(count --new-since 1970-01-01)"
	"$bin" fuzz --target builtin:eager+plant=zero --programs 40 --seed 5 --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	n=$(sql "select count(*) from v_findings" "$tmp/f.db")
	expect "new ones" $((n - 1)) "$(count --new-since 2020-01-01)"
	expect "new ones of the last run" $((n - 1)) "$(count --new-since last-run)"
	"$bin" fuzz --target builtin:eager+plant=zero --programs 40 --seed 5 --db "$tmp/f.db" --quiet >"$tmp/out" 2>"$tmp/err"
	expect "seen in the last run" $((n - 1)) "$(count --since last-run)"
	expect "none is new in it" 0 "$(count --new-since last-run)"
	run findings --op-any nosuchop --db "$tmp/f.db"
	expect "no such operator" 2 $?
	run findings --new-since never --db "$tmp/f.db"
	expect "no such time" 2 $?
}

color() { # in a pipe none; NO_COLOR; --color
	made "$tmp/f.db" >"$tmp/out"
	escapes() { "$bin" "$@" --db "$tmp/f.db" 2>&1 | grep -c $'\x1b'; }
	for list in "findings" "findings causes" "findings causes 1" "triage --time 1ms"; do
		expect "$list in a pipe" 0 "$(escapes $list)"
		expect "$list --color=never" 0 "$(escapes $list --color=never)"
		expect "$list --color=always" yes "$([ "$(escapes $list --color=always)" -gt 0 ] && echo yes)"
		expect "$list --color always without colours is the same" "$("$bin" $list --db "$tmp/f.db" 2>/dev/null)" \
			"$("$bin" $list --db "$tmp/f.db" --color always 2>/dev/null | sed 's/\x1b\[[0-9]*m//g')"
	done
	expect "--json has none" 0 "$(escapes findings causes --json --color=always)"
	hostile=$'\x1b[31mred\x1b[2J'
	"$finding_of" --as "$hostile" torch-2.11.0:inductor@cpu "$tmp/f.db" torch-2.11.0:inductor@cpu crash crash "$tmp/relu.prog" "" 0 >"$tmp/out"
	for list in "findings" "findings causes" "findings causes 1" "findings causes 2" "findings causes 3"; do
		"$bin" $list --color=always --db "$tmp/f.db" | sed 's/\x1b\[[0123]*m//g' >"$tmp/out"
		hasnt "$list: a hostile sequence" "$tmp/out" $'\x1b'
	done
	"$bin" findings --db "$tmp/f.db" --color=always >"$tmp/out"
	has "it is shown" "$tmp/out" '\\x1b\[31mred\\x1b\[2J'
	run findings --color=sometimes --db "$tmp/f.db"
	expect "--color=sometimes" 2 $?
	has "--color=sometimes" "$tmp/err" "^scatterproof: --color knows no 'sometimes'; it knows auto, always, never"
}

help() { # help VERB, values, errors last
	verbs=$("$bin" complete help "")
	expect "verbs" yes "$([ "$(echo "$verbs" | wc -l)" -ge 17 ] && echo yes)"
	for verb in $verbs; do
		"$bin" help "$verb" >"$tmp/help"
		expect "help $verb" 0 $?
		"$bin" "$verb" --help | cmp -s - "$tmp/help"
		expect "help $verb is $verb --help" 0 $?
		has "$verb" "$tmp/help" "^usage: scatterproof $verb "
	done
	run help sweeep
	expect "help of no verb" 2 $?
	has "help of no verb" "$tmp/err" "unknown verb 'sweeep' .*; did you mean 'sweep'\?$"
	run help fuzz check
	expect "help of two" 2 $?
	while IFS='|' read -r verb option bad words; do # what --help lists is what is understood
		values=$("$bin" "$verb" --help | tr -s ' \n' ' ' | sed "s/.* $option [A-Z]/ /; s/^[^:]*alues: //; s/.*alues: $words/$words/" | head -c 200)
		expect "$verb --help lists the values of $option" "$words" "${values:0:${#words}}"
		run $bad
		expect "$bad" 2 $?
		has "$bad: the error is the last line" <(tail -1 "$tmp/err") "^scatterproof.*did you mean"
	done <<-END
		sweep|--axis|sweep x --target builtin:eager --axis stges|stages, dtypes, options, shapes, versions
		fuzz|--fail-on|fuzz --target builtin:eager --programs 1 --fail-on nw|open, new, high, normal, trivial, invalid
		check|--expect|check $tmp/add.prog --expect psas|pass, mismatch, invariant, crash, hang, unsupported, invalid, harness, unjudged
		findings|--state|findings --state knwon --db x|candidate, confirmed, minimised, blamed, known, fixed-in, regressed, dismissed, duplicate, open, new
		findings|--sort|findings --sort sverity --db x|last, first, severity, nobs
	END
	run fuzz --help
	policies=$(tr -s ' \n' ' ' <"$tmp/out" | sed 's/.*generator policy (default: default)\. Values: //; s/ --.*//; s/,//g')
	expect "policies" yes "$([ "$(echo $policies | wc -w)" -ge 5 ] && echo yes)"
	for policy in $policies; do
		run gen --policy "$policy" --programs 1
		expect "gen --policy $policy" 0 $?
	done
	run findings shwo --db x
	expect "a wrong word" "scatterproof findings: 'shwo' is not understood; did you mean 'show'? (try \`scatterproof findings --help\`)" "$(cat "$tmp/err")"
	while IFS='|' read -r words option next; do
		run $words
		expect "$words" 2 $?
		has "$words" "$tmp/err" "$option needs a value, and '$next' is an option \(a file of that name: ./$next; "
	done <<-END
		repro 1 --script --db f.db|--script|--db
		repro 1 --db --script|--db|--script
		findings --sort --json --db x|--sort|--json
		findings mark 1 known --note --issue --db x|--note|--issue
	END
	run findings mark 12345678 known --note=--issue --db "$tmp/nowhere.db"
	hasnt "a value that begins so" "$tmp/err" "needs a value"
	for o in -o --out; do
		run report --db x $o ""
		expect "report $o ''" 2 $?
		has "which one is empty" "$tmp/err" "^scatterproof: $o needs a folder, and its value is empty$"
	done
	run version
	expect "version" "$("$bin" --version)" "$(cat "$tmp/out")"
	run version x
	expect "version x" 2 $?
}

installed() { # cmake --install: binary, manual pages, completion
	build=$(dirname "$bin")
	cmake --install "$build" --prefix "$tmp/usr" >"$tmp/out" 2>&1
	expect "cmake --install" 0 $?
	expect "the binary" "$("$bin" --version)" "$("$tmp/usr/bin/scatterproof" --version)"
	for verb in $("$bin" complete help ""); do
		page=$tmp/usr/share/man/man1/scatterproof-$verb.1
		"$bin" man "$verb" | cmp -s - "$page"
		expect "the page of $verb" 0 $?
	done
	expect "a page for each, and one of the tool" "$(($("$bin" complete help "" | wc -l) + 1))" "$(ls "$tmp/usr/share/man/man1" | wc -l)"
	if command -v groff >/dev/null; then
		for page in "$tmp"/usr/share/man/man1/*.1; do
			groff -man -Tutf8 -ww "$page" >"$tmp/page" 2>"$tmp/err"
			expect "$(basename "$page"): warnings" "" "$(cat "$tmp/err")"
		done
		groff -man -Tascii -P-cbou "$tmp/usr/share/man/man1/scatterproof-sweep.1" >"$tmp/page"
		has "an option and its values" <(tr -s ' \n' ' ' <"$tmp/page") '\-\-axis A,B what to vary \(default: all\)\. Values: stages, dtypes, options, shapes, versions'
	fi
	run man nosuchverb
	expect "no such page" 2 $?
	made "$tmp/f.db" >"$tmp/ids"
	first=$(head -1 "$tmp/ids")
	cat >"$tmp/complete.sh" <<-'END'
		source "$1"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_scatterproof
		echo "${COMPREPLY[*]}"
	END
	while IFS='|' read -r words want; do
		eval "set -- $words"
		expect "completion of $words" "$want" \
			"$(PATH=$tmp/usr/bin:$PATH bash "$tmp/complete.sh" "$tmp/usr/share/bash-completion/completions/scatterproof" scatterproof "$@")"
	done <<-END
		fi|findings
		help sw|sweep
		fuzz --fai|--fail-on
		fuzz --db ""|
		sweep --axis sh|shapes
		sweep --axis = stages,v|stages,versions
		fuzz --color a|auto always
		findings m|mark
		findings --state re|regressed
		findings show --art|--artifact
		findings causes --al|--all
		findings mark --db $tmp/f.db ""|1 2
		findings mark --db $tmp/f.db 1 kn|known
		repro --db $tmp/f.db ${first:0:5}|$first
		repro --db $tmp/absent.db ""|
		check --target torch : induct|inductor
		nosuchverb x|
	END
	cp "$tmp/f.db" "$tmp/my 'own' f.db"
	while read -r word; do # as bash has it in COMP_WORDS
		expect "--db $word" "$first" "$(HOME=$tmp PATH=$tmp/usr/bin:$PATH bash "$tmp/complete.sh" "$tmp/usr/share/bash-completion/completions/scatterproof" scatterproof repro --db "$word" "${first:0:5}")"
	done <<-END
		~/f.db
		"$tmp/f.db"
		'$tmp/f.db'
		~/my\ \'own\'\ f.db
		~/"my 'own' f.db"
		$tmp/my 'own' f.db
	END
	expect "in one word" "--axis=shapes" "$("$bin" complete sweep --axis=sh)"
}

completion_zsh() { # the file that is installed, loaded by zsh's own compinit
	command -v zsh >/dev/null || { echo "SKIPPED: no zsh"; exit 77; }
	cmake --install "$(dirname "$bin")" --prefix "$tmp/usr" >"$tmp/out" 2>&1
	expect "cmake --install" 0 $?
	made "$tmp/f.db" >"$tmp/ids"
	first=$(head -1 "$tmp/ids")
	cat >"$tmp/complete.zsh" <<-'END'
		fpath=($1 $fpath)
		shift
		autoload -Uz compinit && compinit -u -D
		compadd() { print -r -- ${(P)argv[-1]}; } # compadd -a NAME
		_files() { print files; }
		words=(scatterproof "$@") CURRENT=$(($# + 1))
		$_comps[scatterproof]
	END
	while IFS='|' read -r words want; do
		eval "set -- $words"
		expect "completion of $words" "$want" \
			"$(PATH=$tmp/usr/bin:$PATH zsh -f "$tmp/complete.zsh" "$tmp/usr/share/zsh/site-functions" "$@" 2>&1)"
	done <<-END
		fi|findings
		help sw|sweep
		fuzz --fai|--fail-on
		fuzz --db ""|files
		sweep --axis sh|shapes
		sweep --axis=sh|--axis=shapes
		findings show --art|--artifact
		repro --db $tmp/f.db ${first:0:5}|$first
		repro --db "'$tmp/f.db'" ${first:0:5}|$first
		repro --db $tmp/absent.db ""|files
		check --target torch:induct|torch:inductor
		nosuchverb x|files
	END
	verbs=$(echo $("$bin" complete help ""))
	expect "all verbs" "$verbs" "$(PATH=$tmp/usr/bin:$PATH zsh -f "$tmp/complete.zsh" "$tmp/usr/share/zsh/site-functions" help "")"
	command -v tmux >/dev/null || return
	export TMUX_TMPDIR=$tmp
	tmux=: nwindows=0
	trap '$tmux kill-server 2>/dev/null; rm -rf "$tmp"' EXIT
	printf '%s\n' "PS1='ready> ' fpath=($tmp/usr/share/zsh/site-functions \$fpath)" 'autoload -Uz compinit && compinit -u -D' >"$tmp/.zshrc"
	window 80 20 "PATH=$tmp/usr/bin:\$PATH ZDOTDIR=$tmp zsh -d -i"
	becomes "zsh is ready" shows '^ready>'
	$tmux send-keys 'scatterproof find' Tab 'mark --he' Tab
	becomes "the Tab key completes a verb and an option" shows '^ready> scatterproof findings mark --help'
}

window() { # window WIDTH HEIGHT COMMAND: in a terminal of its own
	$tmux kill-server 2>/dev/null
	nwindows=$((nwindows + 1))
	tmux="tmux -L list$$.$nwindows -f /dev/null"
	$tmux new-session -d -x "$1" -y "$2" "$3; echo; echo ended with \$?; sleep 1000"
}
rows() { $tmux capture-pane -p 2>/dev/null | sed 's/ *$//'; }
shows() { rows | grep -qE "$1"; }

screen() { # on a terminal: the width is the terminal's, colours, the pager
	command -v tmux >/dev/null || { echo "SKIPPED: no tmux"; exit 77; }
	export TMUX_TMPDIR=$tmp
	tmux=: nwindows=0
	trap '$tmux kill-server 2>/dev/null; rm -rf "$tmp"' EXIT
	made "$tmp/f.db" >"$tmp/out"
	for width in 80 40; do
		window $width 30 "$bin findings causes --db $tmp/f.db"
		becomes "$width columns: the list ends" shows '^ended with 0'
		rows >"$tmp/out"
		expect "$width columns: one line each" 2 "$(grep -cE '^ *[12]  high ' "$tmp/out")"
		expect "$width columns: lines" $((width == 80 ? 4 : 5)) "$(sed '/^ended/,$d' "$tmp/out" | grep -c .)"
		expect "$width columns: colours" yes "$($tmux capture-pane -p -e | grep -q $'\x1b\[31mhigh' && echo yes)"
	done
	window 80 30 "NO_COLOR=1 $bin findings causes --db $tmp/f.db"
	becomes "NO_COLOR: the list ends" shows '^ended with 0'
	expect "NO_COLOR" no "$($tmux capture-pane -p -e | grep -q $'\x1b\[31m' && echo yes || echo no)"
	window 80 30 "PAGER='sed s/^/paged:/' $bin fuzz --help"
	becomes "a long text goes through PAGER" shows '^paged:'
	window 80 30 "PAGER='sed s/^/paged:/' $bin findings causes --db $tmp/f.db"
	becomes "a short one ends" shows '^ended with 0'
	rows >"$tmp/out"
	hasnt "a short one does not" "$tmp/out" '^paged:'
	for words in "PAGER='sed s/^/paged:/' $bin fuzz --help --no-pager" "PAGER=cat $bin fuzz --help" "PAGER= $bin fuzz --help" \
		"PAGER='sed s/^/paged:/' $bin findings --json --db $tmp/f.db" "PAGER='sed s/^/paged:/' $bin fuzz --help | cat"; do
		window 80 20 "$words"
		becomes "$words: ends" shows '^ended with 0'
		rows >"$tmp/out"
		hasnt "$words: no pager" "$tmp/out" '^paged:'
	done
	for pager in /nonexistent/pager false; do
		window 80 20 "PAGER=$pager $bin fuzz --help"
		becomes "$pager: without the pager the text is there all the same" shows '^ended with 0'
		has "$pager: the text" <(rows) '--no-pager'
	done
}

case $part in
fits | variants | names | marks | filters | color | help | installed | completion_zsh | screen) $part ;;
*) echo "unknown part $part"; exit 2 ;;
esac
end
