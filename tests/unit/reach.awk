# reach.awk: which functions and tables code may get to. Input: `objdump -t` and `objdump -dr` of archives, then `objdump -r` of their data.
# Roots: everything that archive `first` defines, or the function `start`. Prints each symbol reached outside of them, with one way there:
#     eager symbol <- caller <- caller's caller
# A reference is a relocation, or a branch or address inside one section (which has none); a table is the whole data section of its
# object file, so that whoever reads one entry reaches all. Names of static functions are told apart by their object file.
# usage: { objdump -t A B; objdump -dr --no-show-raw-insn A B; objdump -r A B; } | awk -f reach.awk -v first=liboracle.a

function node_of(file, sym) { return ((file, sym) in local_) ? file ":" sym : sym }
function edge(to) { if (from != "" && to != from) { n = ++nedge[from]; edges[from, n] = to } }

# The function of this object file that has the byte at `addr` of `section`.
function function_at(file, section, addr,   i, best, at) {
	best = ""; at = -1
	for (i = 1; i <= nlabel[file, section]; i++)
		if (label_addr[file, section, i] <= addr && label_addr[file, section, i] > at) {
			best = label_name[file, section, i]; at = label_addr[file, section, i]
		}
	return best
}
function hex(s,   i, v) {
	v = 0
	s = tolower(s)
	for (i = 1; i <= length(s); i++)
		v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
	return v
}

function relocation(text, is_pc,   sym, add, sign, name) {
	sym = text; add = 0; sign = 1
	if (match(text, /[-+]0x[0-9a-f]+$/)) {
		sym = substr(text, 1, RSTART - 1)
		sign = substr(text, RSTART, 1) == "-" ? -1 : 1
		add = sign * hex(substr(text, RSTART + 3))
	}
	if (sym ~ /^\.text/) {
		name = function_at(object, sym, add + (is_pc ? 4 : 0))
		if (name != "")
			edge(node_of(object, name))
	} else if (sym ~ /^\.data/) {
		edge(object ":" sym)
	} else if (sym !~ /^\./) {
		edge(node_of(object, sym))
		if ((object, sym) in data_of)
			edge(data_of[object, sym])
		else if (sym in global_data)
			edge(global_data[sym])
	}
}

/^In archive / { archive = $3; sub(/:$/, "", archive); sub(/.*\//, "", archive); next }
/^[^ \t]+: +file format/ { object = $1; sub(/:$/, "", object); object = archive "/" object; section = ""; from = ""; next }
/^SYMBOL TABLE/ { mode = "symbols"; next }
/^Disassembly of section/ { mode = "code"; section = $4; sub(/:$/, "", section); next }
/^RELOCATION RECORDS FOR/ {
	mode = "data"
	section = $4
	gsub(/[:]|\[|\]/, "", section)
	from = section ~ /^\.data/ ? object ":" section : ""
	next
}

# 0000000000000000 l     F .text	0000000000000614 components
mode == "symbols" && NF >= 5 {
	scope = substr($0, 18, 1); kind = substr($0, 24, 1); name = $NF
	split($0, half, "\t"); k = split(half[1], left, " "); sec = left[k]
	if (kind == "F" && sec ~ /^\.text/) {
		i = ++nlabel[object, sec]; label_addr[object, sec, i] = hex($1); label_name[object, sec, i] = name
		if (scope == "l") local_[object, name] = 1
		if (archive == first) root[node_of(object, name)] = 1
		defined[node_of(object, name)] = archive
	} else if (kind == "O" && sec ~ /^\.data/) {
		if (scope == "l") { local_[object, name] = 1; data_of[object, name] = object ":" sec }
		else global_data[name] = object ":" sec
		defined[node_of(object, name)] = archive
		defined[object ":" sec] = archive
	}
	next
}
# What an instruction seems to point at means nothing if a relocation follows.
mode == "code" && /R_[A-Z0-9_]+/ { pending = ""; relocation($NF, $0 ~ /PC32|PLT32/); next }
mode == "code" && pending != "" { edge(node_of(object, pending)); pending = "" }
mode == "code" && /^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); from = node_of(object, name); next }
mode == "code" && match($0, /<[^>+]+/) { pending = substr($0, RSTART + 1, RLENGTH - 1); next }
mode == "data" && /R_[A-Z0-9_]+/ { relocation($NF, 0) }

END {
	if (start != "") { delete root; root[start] = 1 }
	for (r in root) { queue[++tail] = r; seen[r] = 1; way[r] = r }
	for (head = 1; head <= tail; head++) {
		at = queue[head]
		for (i = 1; i <= nedge[at]; i++) {
			to = edges[at, i]
			if (to in seen) continue
			seen[to] = 1
			way[to] = to " <- " way[at]
			queue[++tail] = to
			if ((to in defined) && defined[to] != first) { text = way[to]; print text }
		}
	}
}
