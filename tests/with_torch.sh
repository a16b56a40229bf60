#!/bin/sh
# with_torch.sh VERSION COMMAND...: runs COMMAND if an environment torch-VERSION is installed, `{python}` in it standing for its
# interpreter; 77 (skipped) if there is none. That is decided here and before: whatever COMMAND returns is a result, also 3 for a broken target or 77.
version=$1
shift
python=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}/torch-$version/bin/python
[ -x "$python" ] || { echo "SKIPPED: no $python (scripts/setup-targets torch-$version installs it)"; exit 77; }
n=$#
while [ $n -gt 0 ]; do
	word=$1
	shift
	[ "$word" = "{python}" ] && word=$python
	set -- "$@" "$word"
	n=$((n - 1))
done
"$@"
rc=$?
[ $rc = 77 ] && { echo "exit code 77 although torch-$version is installed: nothing was skipped"; exit 1; }
exit $rc
