# judged.awk: does a campaign's summary say that a target was really tested? Prints yes, or what is too small.
# Usage: awk -v target=NAME -v programs=N -f judged.awk SUMMARY
# Which programs a seed gives, and so the exact counts, changes with every row and dtype. The shares do not: of the programs two thirds pass,
# and of those that the reference judges nine tenths.
$1 == target { for (i = 2; i < NF; i += 2) n[$i] = $(i + 1) }
END {
	if (3 * n["pass"] < 2 * programs)
		print "only " n["pass"] + 0 " of " programs " pass"
	else if (10 * n["pass"] < 9 * (programs - n["unjudged"]))
		print "only " n["pass"] " of " programs - n["unjudged"] " that are judged pass"
	else
		print "yes"
}
