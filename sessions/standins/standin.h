/// What every stand-in has: a command line, read alike by all ranks and answered by rank 0 alone, the weight of its
/// computation, and the one line that it prints.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace standins {

/// A whole number, as `--size 10`.
struct option {
  const char* name;
  long& value;  ///< holds the default
  long least, most;
  const char* meaning;
};

constexpr int go_on = -1;

inline int this_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int all_ranks() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline void print_help(const char* program, const char* what, std::initializer_list<option> options) {
  std::printf("%s: %s\n  mpirun -n RANKS %s [options]\n", program, what, program);
  for (const option& o : options) std::printf("  --%-12s %s (default %ld)\n", o.name, o.meaning, o.value);
  std::printf("exit code: 1 when the result is wrong, 2 for a wrong command line\n");
}

/// Exit code 2, after rank 0 has said why.
inline int refuse(const char* program, const char* what, const char* value, const char* remedy) {
  if (this_rank() == 0) std::fprintf(stderr, "%s: %s %s: %s\n", program, what, value, remedy);
  return 2;
}

inline int read_value(const char* program, const option& o, const char* text) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text, &end, 10);
  if (end != text && *end == '\0' && errno == 0 && number >= o.least && number <= o.most) {
    o.value = number;
    return go_on;
  }
  char name[64], remedy[96];
  std::snprintf(name, sizeof name, "--%s", o.name);
  std::snprintf(remedy, sizeof remedy, "give a whole number from %ld to %ld", o.least, o.most);
  return refuse(program, name, text, remedy);
}

/// go_on, or the exit code with which the program shall end (0 after --help).
inline int read_options(int argc, char** argv, const char* program, const char* what,
                        std::initializer_list<option> options) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0) {
      if (this_rank() == 0) print_help(program, what, options);
      return 0;
    }
    const option* found = nullptr;
    for (const option& o : options) {
      if (std::strncmp(argv[i], "--", 2) == 0 && std::strcmp(argv[i] + 2, o.name) == 0) found = &o;
    }
    if (found == nullptr) return refuse(program, "unknown option", argv[i], "see --help");
    if (++i == argc) return refuse(program, "no value for", argv[i - 1], "see --help");
    if (const int code = read_value(program, *found, argv[i]); code != go_on) return code;
  }
  return go_on;
}

/// The root of `energy`, by `work` further steps of Newton's method, which change nothing but the time that it takes:
/// so fewer or more messages are sent per second.
inline double sound_speed(double energy, long work) {
  double speed = std::sqrt(energy);
  for (long i = 0; i < work; ++i) speed = 0.5 * (speed + energy / speed);
  return speed;
}

/// The part [begin, end) of `count` things in a row that falls to one of `num_parts`.
struct part {
  long begin, end;
  part(long count, int num_parts, int number)
      : begin(count * number / num_parts), end(count * (number + 1) / num_parts) {}
};

/// Prints the one line of the result at rank 0: the time of the slowest rank, what was computed, and whether it is
/// right at every rank. Exit code 0 or 1. Two reductions.
inline int finish(double seconds, const char* result, bool right) {
  double slowest = 0;
  int own_wrong = right ? 0 : 1, num_wrong = 0;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&own_wrong, &num_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (this_rank() == 0) {
    std::printf("seconds %.6f ranks %d %s ", slowest, all_ranks(), result);
    num_wrong == 0 ? std::printf("verified\n") : std::printf("wrong at %d ranks\n", num_wrong);
  }
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace standins
