#!/bin/sh
# gen_accept.sh TEST_GEN N [SEED [POLICY]]: N generated programs on PyTorch eager (gen_accept.py); 77 where it is not installed.
python=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}/torch-2.11.0/bin/python
[ -x "$python" ] || { echo "SKIPPED: no $python"; exit 77; }
"$1" "$2" "${3:-1}" print "${4:-default}" | "$python" "$(dirname "$0")/gen_accept.py"
