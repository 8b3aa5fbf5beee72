/* The nine routines of sessions_micro, with contents that each of them is checked by. */
#ifndef IMBREX_SESSIONS_BENCH_MICRO_ROUTINES_H
#define IMBREX_SESSIONS_BENCH_MICRO_ROUTINES_H

#include "micro_memory.h"

#define NUM_BENCHMARKS 9

struct job {
  int rank, num_ranks;
  long bytes;
  struct buffer send, receive;
};

struct benchmark {
  const char* name;
  void (*call)(const struct job* job);
  int send_blocks, receive_blocks;          /* 1: one block of `bytes`; 0: one for each rank */
  void (*fill)(const struct job* job);      /* the contents of what is sent */
  long (*num_wrong)(const struct job* job); /* of the contents of what was received */
  int pair;                                 /* only ranks 0 and 1 take part */
  double ways;                              /* messages one after the other in a repetition */
};

/* By number, in the paper's order. */
extern const struct benchmark benchmarks[NUM_BENCHMARKS];

#endif
