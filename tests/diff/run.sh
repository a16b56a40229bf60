#!/bin/sh
# run.sh SCRIPT OPCALL [ARGUMENT...]: runs a Python test with an interpreter that has PyTorch; 77 with a sentence if there is none. An
# environment of ours that is there and whose PyTorch does not start is a failure, not a reason to skip.
base=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}
here=$(dirname "$0")
for python in "${SCATTERPROOF_PYTHON:-}" "$base/torch-2.11.0/bin/python" "$base/torch-2.15.0/bin/python" python3; do
	[ -n "$python" ] && command -v "$python" >/dev/null || continue
	if [ "$python" = python3 ] && ! python3 -c 'import torch' 2>/dev/null; then
		continue
	fi
	"$python" -c 'import torch' || { echo "PyTorch of $python does not start"; exit 1; }
	script=$1
	shift
	"$python" "$here/$script" "$@"
	rc=$?
	[ $rc = 77 ] && rc=1    # it is installed: nothing was skipped
	exit $rc
done
echo "SKIPPED: no Python with PyTorch was found (scripts/setup-targets installs one), so nothing was compared"
exit 77
