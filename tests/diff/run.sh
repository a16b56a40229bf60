#!/bin/sh
# run.sh SCRIPT OPCALL [ARGUMENT...]: runs a Python test with an interpreter that has PyTorch; 77 with a sentence if there is none.
base=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}
here=$(dirname "$0")
for python in "${SCATTERPROOF_PYTHON:-}" "$base/torch-2.11.0/bin/python" "$base/torch-2.15.0/bin/python" python3; do
	if [ -n "$python" ] && "$python" -c 'import torch' 2>/dev/null; then
		script=$1
		shift
		exec "$python" "$here/$script" "$@"
	fi
done
echo "SKIPPED: no Python with PyTorch was found (scripts/setup-targets installs one), so nothing was compared"
exit 77
