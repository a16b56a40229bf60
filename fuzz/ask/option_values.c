/* option_values.c: tables of names become lists. */
#include "fuzz/ask/option_values.h"

#include "compiled/defects/defects.h"
#include "eager/base/screen.h"
#include "fuzz/ask/fail_on.h"
#include "compiled/compile.h"
#include "fuzz/ask/findings_options.h"
#include "fuzz/gen/policy.h"
#include "fuzz/triage/sweep.h"

void words_put(struct strbuf *sb, const char *const *name, int n)
{
	for (int i = 0; i < n; i++)
		sb_printf(sb, "%s%s", sb->len ? " " : "", name[i]);
}

/* "default, short, …" */
void policy_values(struct strbuf *sb)
{
	for (const char *s = policy_names(); *s; s++)
		if (*s != ',')
			sb_putc(sb, *s);
}

void verdict_values(struct strbuf *sb) { words_put(sb, verdict_name, NVERDICTS); }
void axis_values(struct strbuf *sb) { words_put(sb, sweep_axis_name, NSWEEP_AXES); }
void fail_on_values(struct strbuf *sb) { words_put(sb, fail_on_word, NFAIL_ON_WORDS); }
const char *const form_name[NFORMS] = {NULL, "loops", "c", "cuda", "ptx", "read"};

bool print_after_stage(int stage) { return compile_stage_find(&stage, compile_stage_name(stage)); }

void print_after_values(struct strbuf *sb)
{
	for (int i = 0; i < compile_nstages(); i++)
		if (print_after_stage(i))
			sb_printf(sb, "%s%s", sb->len ? " " : "", compile_stage_name(i));
	for (int f = FORM_LOOPS; f < NFORMS; f++)
		sb_printf(sb, " %s", form_name[f]);
}
void part_values(struct strbuf *sb) { sb_puts(sb, "forward backward"); }
void severity_values(struct strbuf *sb) { words_put(sb, finding_severity_name, NSEVERITIES); }
void kind_values(struct strbuf *sb) { words_put(sb, finding_kind_name, NFINDING_KINDS); }
void order_values(struct strbuf *sb) { words_put(sb, findings_order_name, NORDERS); }
void color_values(struct strbuf *sb) { words_put(sb, color_when_name, NCOLOR_WHENS); }

void state_values(struct strbuf *sb)
{
	words_put(sb, finding_state_name, NFINDING_STATES);
	words_put(sb, findings_state_group, NSTATE_GROUPS);
}

void defect_values(struct strbuf *sb)
{
	for (int i = 0; i < ndefects; i++)
		words_put(sb, &defects[i].name, 1);
}

void dtype_values(struct strbuf *sb)
{
	for (int i = 0; i < NDTYPES; i++)
		words_put(sb, &dtype_info[i].name, 1);
}
