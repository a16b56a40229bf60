#!/bin/bash
# surface.sh PYTHON SURFACE_PRINT right|planted FILE…: what spellings dispatch to (surface_check.py): ten programs of every row, 600 of two
# policies, and the files. planted: some spellings of the files are made wrong, and that must be seen.
set -o pipefail
python=$1 print=$2 part=$3
shift 3
check() { "$python" "$(dirname "$0")/surface_check.py" "$@"; }
# The checker itself runs, and says so in its last line: a checker that cannot be imported has seen nothing.
says() { # says DIFFERENCES TEXT
	grep -qE "^[1-9][0-9]* programs with PyTorch [^ ]*: $1 differences" <<<"$2" || { printf '%s\n' "$2" | tail -20; exit 1; }
}
if [ "$part" = right ]; then
	{ "$print" each 10 1 && "$print" 400 1 && "$print" 200 2 symbols && "$print" "$@"; } | check --least 2
	exit
fi
said=$("$print" "$@" | check 2>&1) || { printf '%s\n' "$said" | tail -20; exit 1; }
says 0 "$said"
# Each fault by itself: another operator, another overload, another dimension, a copy that is a view, an operator too many.
for fault in 's/ + / - /' 's/ \*\* 2$/ * 2/' 's/\.sum(dim=0)/.sum(dim=1)/' 's/\.clone()/.contiguous()/' 's/^\( *\)\(.*\)\.T$/\1\2.t()/' \
	's/^    \(.*\)\[1:3\] = y$/    \1[1:3].copy_(y); \1[1:3]/'; do
	said=$("$print" "$@" | sed "/^# python python/,/^# end/{$fault}" | check 2>&1) && { echo "not seen: $fault"; exit 1; }
	says '[1-9][0-9]*' "$said"
done
echo "6 faults seen"
