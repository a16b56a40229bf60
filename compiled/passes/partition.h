/* partition.h: the joint program in two (AOTAutograd's partitioner): a FORWARD part, which returns the outputs and what the backward part
 * reads of it, the SAVED values; and a BACKWARD part, a program of its own, whose inputs are
 *
 *   inputs of the source   as they are, in the memory of whoever calls. One that the epilogue writes is none of them: the backward part
 *                          reads what it held before, so the forward part saves a copy
 *   saved values           each in its layout (strides, offset). What shares memory with another one is an `input_view` of it
 *   cotangents             with the strides that the caller's have. The CALLER computes them between the two parts: rows that cotangents
 *                          alone need are in neither part
 *
 * A backward row is one that the joint step appended, or that depends on a cotangent. Of what such rows read of the forward part
 *
 *   everything is saved    where that is asked for (save_all);
 *   else views are made again of what they are views of, and pointwise rows and constants are computed again, if all that they read is an
 *   input, is saved anyway, or is computed again itself. What is an output is saved in any case: it exists.
 *
 * A saved value is DONATED to the backward part, which may then write its memory, if nobody else has a name for that: it shares memory with
 * no output, no input and no other saved value. */
#ifndef SCATTERPROOF_PARTITION_H
#define SCATTERPROOF_PARTITION_H

#include "compiled/passes/functionalise.h"
#include "compiled/passes/pass.h"

enum part_source { FROM_SOURCE, FROM_FORWARD, FROM_CALLER };

/* Where an input of a part comes from. */
struct part_input {
	enum part_source from;
	int index; /* the source's input storage; which of the saved values; which of the cotangents */
	bool donated;
};

struct partition {
	struct prog caller; /* the cotangents' rows and their inputs; returns the cotangents, in the order of the backward's lines */
	struct prog backward;
	struct pure gradients;              /* of backward: its results, the gradients that exist */
	struct part_input input[MAX_NODES]; /* of backward: by input storage */
	int nsaved;                         /* the results of the forward part in the role RESULT_SAVED */
	/* For validators: the joint program as it was, and of its rows, which depend on a cotangent, which are computed again. */
	struct prog joint;
	bool *depends, *again;
};

/* f->p and g, the joint program and its results, become the forward part and its: outputs, what the epilogue writes, saved values. Of g's
 * results those of the cotangents (RESULT_COTANGENT, one for each line of f->from's backward) say where the cut is. nforward: rows before
 * those that the joint step appended. False: there would be too much of something (err). */
bool partition(struct partition *out, struct functional *f, struct pure *g, int nforward, bool save_all, struct arena *a, struct err *err);

/* I8 (validate.h). forward: its results. */
bool validate_partition(const struct partition *s, const struct functional *f, const struct pure *forward, struct err *err);
/* The part of it that later steps must keep: a saved value is what the backward part's input says. saved: of the forward part. */
bool validate_saved(const struct partition *s, const struct prog *forward, const int *saved, struct err *err);

#endif
