#!/bin/bash
# gen_accept.sh PYTHON GEN_TEST N [SEED [POLICY]]: N generated programs on PyTorch eager (gen_accept.py).
set -o pipefail
"$2" "$3" "${4:-1}" print "${5:-default}" | "$1" "$(dirname "$0")/gen_accept.py"
