/* sf.h: the scalar functions of sf.def by number, and the names of scalars that they are applied to. */
#ifndef SCATTERPROOF_SF_H
#define SCATTERPROOF_SF_H

#include <stdint.h>

enum sf {
#define SF(id, arity, what) SF_##id,
#include "oracle/num/sf.def"
	NSF
};
extern const char *const sf_name[NSF];

enum { FORMULA_SCALARS = 4 }; /* numbers that a row of formula.def may name: s0 ... s3 */
typedef uint32_t sid;         /* name of a scalar (oracle/tape/tape.h) */

#endif
