#!/bin/sh
# with_target.sh VERSION COMMAND...: runs COMMAND if an environment torch-VERSION is installed, `{python}` in it standing for its interpreter;
# 77 (skipped) if there is none. VERSION `any`: $SCATTERPROOF_PYTHON if it is set, else the oldest environment that is there, else a python3
# that imports torch; `jax-VERSION`: the environment of that name. Whether to skip is decided here and nowhere else: an environment that is
# there and broken is a failure, and whatever COMMAND returns is a result, also 3 for a broken target or 77.
version=$1 family=torch called=PyTorch
shift
case $version in jax-*) family=jax called=JAX version=${version#jax-} ;; esac
envs=${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}
skip() { echo "SKIPPED: $1"; exit 77; }
fail() { echo "$1"; exit 1; }
if [ "$version" != any ]; then
	[ -d "$envs/$family-$version" ] || skip "no $called $version in $envs (scripts/setup-targets $family-$version installs it)"
	python=$envs/$family-$version/bin/python
elif [ -n "${SCATTERPROOF_PYTHON:-}" ]; then
	python=$(command -v "$SCATTERPROOF_PYTHON") || fail "SCATTERPROOF_PYTHON: there is no $SCATTERPROOF_PYTHON"
else
	for python in "$envs"/torch-*; do break; done
	if [ -d "$python" ]; then
		python=$python/bin/python
	elif python3 -c 'import torch' 2>/dev/null; then
		python=python3
	else
		skip "no Python with PyTorch was found (scripts/setup-targets torch-2.11.0 installs one)"
	fi
fi
command -v "$python" >/dev/null || fail "$python cannot be run: the environment is there and broken"
"$python" -c "import $family" || fail "$called of $python does not start"
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
[ $rc = 77 ] && fail "exit code 77 although $called $version is installed: nothing was skipped"
exit $rc
