# Completion of scatterproof in bash: the binary itself says what may come (`scatterproof complete`); where it says nothing, a file may.
_scatterproof() {
	local word
	COMPREPLY=()
	while IFS= read -r word; do
		# readline completes what stands behind the last ':' only
		if [[ $COMP_WORDBREAKS == *:* && (${COMP_WORDS[COMP_CWORD]} == : || ${COMP_WORDS[COMP_CWORD - 1]} == :) ]]; then
			word=${word#*:}
		fi
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _scatterproof scatterproof
