#!/bin/sh
# surface.sh SURFACE_PRINT VERSION PLANTED FILE…: what spellings dispatch to (surface_check.py): six programs of every row, 600 of two policies,
# and the files. With PLANTED = yes some spellings are wrong, and that must be seen. 77 where that PyTorch is not installed.
print=$1 planted=$3
python=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}/torch-$2/bin/python
[ -x "$python" ] || { echo "SKIPPED: no $python"; exit 77; }
check="$python $(dirname "$0")/surface_check.py"
shift 3
if [ "$planted" = yes ]; then
  # Each fault by itself: another operator, another overload, another dimension, a copy that is a view, an operator too many.
  for fault in 's/ + / - /' 's/ \*\* 2$/ * 2/' 's/\.sum(dim=0)/.sum(dim=1)/' 's/\.clone()/.contiguous()/' 's/^\( *\)\(.*\)\.T$/\1\2.t()/' \
    's/^    \(.*\)\[1:3\] = y$/    \1[1:3].copy_(y); \1[1:3]/'; do
    if "$print" "$@" | sed "/^# python python/,/^# end/{$fault}" | $check > /dev/null 2>&1; then
      echo "not seen: $fault"
      exit 1
    fi
  done
  exit 0
fi
{ "$print" each 6 1; "$print" 400 1; "$print" 200 2 symbols; "$print" "$@"; } | $check --least 2
