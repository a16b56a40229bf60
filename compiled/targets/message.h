/* message.h: what a target says when it raises or refuses, as text that is the same for the same cause. */
#ifndef SCATTERPROOF_MESSAGE_H
#define SCATTERPROOF_MESSAGE_H

#include "compiled/targets/target.h"

/* The first line of a message without what differs from case to case: numbers (but those of a dtype: "f32", "float8_e4m3fn"), what stands
 * in brackets, what follows `=`. In a. */
const char *message_generalised(const char *m, struct arena *a);
/* Of a sentence of the reference's: whole, and only numbers of several digits are N, so that "tensor1" and "a stride of 0" stay. */
const char *message_counted(const char *m, struct arena *a);
/* "InductorError: TypeError: sub() takes 3 positional arguments" -> "TypeError: sub() takes N positional arguments": the innermost error,
 * generalised. It names findings in stores: dtypes lose their numbers here, so that a cause is one finding whatever the dtype, and old
 * findings are met again. */
const char *message_innermost(const char *m, const struct target *t, struct arena *a);
/* The words of the innermost error's first line by which a script can know it again: the longest piece without numbers, dtypes, quoted
 * names, paths and what stands in brackets. "InductorError: IndexError: index 3 is out of bounds" -> "is out of bounds". Versions
 * differ in its type, which is taken only if there are no words, and another error stands around it. Printable ASCII; "": neither. */
const char *message_part(const char *m, const struct target *t, struct arena *a);
/* The same for people: its first line as it is, numbers and all. */
const char *message_first_line(const char *m, const struct target *t, struct arena *a);

/* What a terminal shows of a message: all of a short one; of a graph dump its head; of a C++ or Triton compiler's output also its first
 * error. */
enum { MESSAGE_SHOWN = 1000 }; /* characters, about */
const char *message_shown(const char *m, struct arena *a);

/* Where t was when it crashed or hung, from the end of its output: what the C library said of its heap, or else the innermost function of
 * t's package (driver.h) in the last traceback of Python's faulthandler. "" if neither is there. In a. */
extern const char message_heap[]; /* "heap corrupted", the place of the former */
const char *message_place(const char *tail, const struct target *t, struct arena *a);

#endif
