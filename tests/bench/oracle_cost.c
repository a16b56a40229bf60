/* oracle_cost.c: what a scalar and an operand entry cost, forward and gradient together.
 *   oracle_cost        prints ns per entry and bytes per scalar for typical tapes, small and ten times as large */
#include "oracle/tape/adjoint.h"
#include "oracle/num/licence.h"
#include "fuzz/triage/profile.h"
#include "generated/op_id.h"

#include <stdio.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { CHAIN, SUMS, MATMUL, EXPS, NTAPES };
static const char *const names[NTAPES] = {"add, mul chain", "sums of 100", "matrix product", "exp, tanh"};

static void build(struct tape *t, int kind, int64_t n)
{
	float *data = ARENA_NEW(t->arena, float, n);
	for (int64_t i = 0; i < n; i++)
		data[i] = (float)((i * 7919) % 1000 - 500) / 300.0f;
	tape_at(t, 0, OP_input);
	sid x = tape_load(t, SF_LEAF, DT_F32, data, n), *a = tape_ids(t, n), *b = tape_ids(t, n);
	for (int64_t i = 0; i < n; i++) {
		a[i] = x + (sid)i;
		b[i] = x + (sid)((i * 31) % n);
	}
	for (int node = 1; node <= 4; node++) {
		sid y = 0;
		if (kind == CHAIN) {
			tape_at(t, node, node & 1 ? OP_mul_Tensor : OP_add_Tensor);
			y = tape_map2(t, node & 1 ? SF_MUL : SF_ADD, DT_F32, a, b, n);
		} else if (kind == EXPS) {
			tape_at(t, node, node & 1 ? OP_exp : OP_tanh);
			y = tape_map1(t, node & 1 ? SF_EXP : SF_TANH, DT_F32, a, n);
		} else if (kind == SUMS) {
			tape_at(t, node, OP_sum_dim);
			tape_rows(t, SF_SUM, DT_F32, b, n / 100, 100, 0);
			continue;
		} else {
			int64_t k = 1;
			while ((k + 1) * (k + 1) <= n)
				k++;
			tape_at(t, node, OP_mm);
			tape_matmul(t, DT_F32, a, b, 1, k, k, k);
			continue;
		}
		sid *c = tape_ids(t, n);
		for (int64_t i = 0; i < n; i++)
			c[i] = y + (sid)i;
		a = c;
	}
}

int main(void)
{
	static const uint32_t path[8] = {1, 1, 1, 1, 1, 1, 1, 1};
	struct arena a;
	struct licence_profile l;
	arena_init(&a);
	profile_named(&l, "torch:eager@cpu");
	for (int kind = 0; kind < NTAPES; kind++) {
		for (int64_t n = 3000; n <= 30000; n *= 10) {
			double best_f = 1e9, best_b = 1e9;
			int64_t entries = 0, scalars = 0;
			size_t bytes = 0;
			int64_t m = kind == MATMUL ? n / 10 : n;
			for (int rep = 0; rep < 7; rep++) {
				struct tape t;
				struct adjoint A;
				struct tape_limits lim = TAPE_LIMITS_DEFAULT;
				double t0 = now();
				tape_init(&t, &a, &l, lim);
				build(&t, kind, m);
				double t1 = now();
				adjoint_init(&A, &t);
				struct num one = num_exact(DT_F32, 1);
				for (sid id = (sid)t.nscalar - 1; id > (sid)t.nscalar - 20; id--)
					adjoint_seed(&A, id, &one, 100);
				adjoint_run(&A, path);
				double t2 = now();
				best_f = t1 - t0 < best_f ? t1 - t0 : best_f;
				best_b = t2 - t1 < best_b ? t2 - t1 : best_b;
				entries = t.nentry;
				scalars = t.nscalar;
				bytes = a.used;
				arena_reset(&a);
			}
			printf("%-16s %8lld scalars %9lld entries: forward %5.1f, gradient %5.1f ns/entry; %.0f bytes/scalar in all (%zu value, %zu "
				   "adjoint)\n",
				names[kind], (long long)scalars, (long long)entries, best_f * 1e9 / (double)entries, best_b * 1e9 / (double)entries,
				(double)bytes / (double)scalars, sizeof(struct num), sizeof(struct adj));
		}
	}
	arena_free(&a);
	return 0;
}
