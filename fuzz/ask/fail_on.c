/* fail_on.c: the words of --fail-on. */
#include "fuzz/ask/fail_on.h"

#include "eager/base/guess.h"

const char *const fail_on_word[NFAIL_ON_WORDS] = {"open", "new", "high", "normal", "trivial", "invalid"};

bool fail_on_parse(struct fail_on *out, const char *words, struct err *err)
{
	bool which = false, least = false;
	*out = (struct fail_on){.least = SEVERITY_NORMAL};
	for (const char *s = words;; s++) {
		char word[32];
		size_t n = strcspn(s, ",");
		enum finding_severity severity;
		snprintf(word, sizeof word, "%.*s", (int)MIN(n, sizeof word - 1), s);
		if (str_eq(word, "open") || str_eq(word, "new")) {
			if (which)
				return err_set(err, "--fail-on: '%s' has more than one of open, new", words);
			which = true;
			out->only_new = word[0] == 'n';
		} else if (str_eq(word, "invalid")) {
			out->invalid = true;
		} else if (finding_severity_find(&severity, word)) {
			if (least)
				return err_set(err, "--fail-on: '%s' has more than one severity; the least one that is to fail is enough", words);
			least = true;
			out->least = severity;
		} else if (str_eq(word, "meta")) {
			return err_set(err, "--fail-on: 'meta' is now 'trivial' (findings that differ in strides alone)");
		} else {
			return err_set(err, "--fail-on: '%s' is none of open, new, high, normal, trivial, invalid%s", word,
				guess_from(&(struct guess){0}, word, fail_on_word, sizeof fail_on_word[0], NFAIL_ON_WORDS));
		}
		s += n;
		if (!*s)
			return true;
	}
}
