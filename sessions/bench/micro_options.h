/* The command line of sessions_micro. */
#ifndef IMBREX_SESSIONS_BENCH_MICRO_OPTIONS_H
#define IMBREX_SESSIONS_BENCH_MICRO_OPTIONS_H

#include "micro_routines.h"

#define MAX_SIZES 64

struct options {
  int chosen[NUM_BENCHMARKS];
  long sizes[MAX_SIZES];
  int num_sizes;
  long repeats;
  enum memory_kind memory;
  int synchronized; /* a barrier before every repetition */
  int help;
  char complaint[256]; /* empty where all is well */
};

/* Never ends the program: what was wrong first is in `complaint`. */
void read_options(struct options* o, int argc, char** argv);
void complain(struct options* o, const char* what, const char* text, int length, const char* remedy);
void print_help(void);

#endif
