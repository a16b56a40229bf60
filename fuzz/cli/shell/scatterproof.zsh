#compdef scatterproof
# Completion of scatterproof in zsh: the binary itself says what may come (`scatterproof complete`); where it says nothing, a file may.
local -a found
found=(${(f)"$("${(Q)words[1]}" complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
if (( ${#found} )); then
	compadd -a found
else
	_files
fi
