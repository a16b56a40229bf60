/* marks.h: the step schedule (loops/schedule.h) on loops of any size. */
#ifndef SCATTERPROOF_MARKS_H
#define SCATTERPROOF_MARKS_H

#include "compiled/loops/loops.h"

/* Marks the loops that loops_schedule marks at the hints and at some other sizes that the guards admit: checked there, not proven. */
void loops_schedule_any_size(struct loops *l);

#endif
