#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decomposition.h"
#include "field/stencil.h"
#include "support/gpu_choice.h"

/// The command line of jacobi3d as one value. Every rank parses its own copy; `digest` finds out whether they agree.
namespace jacobi {

/// Chares with channels, or streams on GPUs; one block for each MPI rank; chares whose data are `hetero_object`s and
/// whose work is tasks.
enum class implementation { chare, mpi, hetero };
enum class map_kind { block, round_robin };
enum class initial_kind { hot_face, random, sine, file };

using apps::halo_path;
using apps::stream_design;
/// Which kernels of an iteration are one (2022 paper, III-D1): A packs all faces in one kernel; B also unpacks all in
/// one; C unpacks, updates and packs in one; D, ours, is one kernel for all chares of a GPU that stores the halos into
/// the neighbours' memory.
enum class fusion_strategy { none, a, b, c, d };

/// What applies to GPUs only; empty where the program chooses.
struct gpu_options {
  int gpus = 0;  ///< per process; 0: all there are
  std::optional<stream_design> streams;
  std::optional<halo_path> halos;
  std::optional<fusion_strategy> fusion;
  std::optional<bool> graph;
  std::string completion;  ///< "flag", "event", "callback" or "sync"
};

/// What is found out by trying before the run begins (`auto`).
struct tuned_options {
  bool odf = false, steps = false, fusion = false;

  bool any() const { return odf || steps || fusion; }
};

/// What the ghost cells outside the domain hold.
struct boundary_condition {
  bool periodic = false;
  double value = 0.0;  ///< meaningless when periodic
};

/// What the first state of the field is; `input` is the .npy file of `initial_kind::file`.
struct initial_condition {
  initial_kind kind = initial_kind::hot_face;
  std::uint64_t seed = 0;  ///< of `initial_kind::random`
  std::string input;
};

/// The overdecomposition factor used when neither -c nor --odf is given.
inline constexpr int default_odf = 4;

/// `--steps resident`: all iterations between two looks in one kernel on each GPU, though not more than so many.
inline constexpr int resident_steps = 1000;

struct options {
  extents grid{256, 256, 256};
  std::optional<std::int64_t> num_chares;  ///< -c; in all
  std::optional<int> odf;                  ///< --odf; chares per PE; never given together with -c
  int pes = 0;                             ///< --pes per process; 0: not given, the runtime chooses
  std::int64_t warm_up = 10;
  std::int64_t iterations = 100;
  int repeats = 3;
  initial_condition initial;
  boundary_condition boundary;
  stencil formula;
  std::optional<double> tolerance;  ///< stop when the L2 norm of the change falls below it; see stopping_rule.h
  std::int64_t check_every = 10;
  std::int64_t point_every = 100;  ///< iterations between points at which a checkpoint may be made
  implementation impl = implementation::chare;
  map_kind map = map_kind::block;
  int steps = 1;                   ///< iterations between two exchanges, or `resident_steps`; with chares only
  int imbalance = 1;               ///< a quarter of the blocks costs so many times as much as the others
  std::int64_t wander = 0;         ///< iterations after which the dear quarter begins a block further; 0: it stays
  std::string balance;             ///< strategy by which the runtime moves blocks; empty: none
  std::int64_t balance_every = 0;  ///< iterations between calls to balance; 0: the runtime looks by itself
  bool overlap = false;            ///< only with `implementation::mpi`
  bool verify = false;
  bool quiet = false;
  std::vector<std::string> outputs;  ///< .npy, .vti or .pvti, told apart by suffix; no duplicates
  std::string report;                ///< JSON; empty: none
  std::string trace;                 ///< Chrome-trace JSON, written by the runtime; empty: none
  std::string device = "auto";       ///< "host", "cuda", "opencl" (hetero), or "auto": cuda where there is a GPU
  gpu_options gpu;
  tuned_options tuned;
};

/// Reads a command line. Arguments that start with `--imbrex-` belong to the runtime and are passed over, with the
/// value that follows them where there is one. Returns nothing when help was asked for (it is printed to stdout). With
/// --input and no extents given, the extents are those of the file (its header is read here). Throws usage_error
/// (wrong, missing or contradictory options, an unusable input file) and not_built (a device).
std::optional<options> parse_options(int argc, const char* const* argv);

/// How many chares these options ask for on so many PEs in all. With -c or --odf given, exactly that (which may be
/// impossible to decompose: `decomposition::of_least_surface` says so); by default the largest count up to
/// `default_odf * total_pes` that the grid can be cut into.
std::int64_t chare_count(const options& o, std::int64_t total_pes);

/// As on the command line.
std::string steps_text(const options& o);

/// All the options as lines `name=value`, the same string exactly when the options are the same. Ranks compare it.
std::string digest(const options& o);

/// The message for ranks that disagree: names the first line in which the digests differ, with both values and ranks.
/// Precondition: the digests differ.
std::string describe_difference(const std::string& mine, int my_rank, const std::string& other, int other_rank);

/// The option's spelling on the command line: "chare", "mpi", "hetero"; "block", "round-robin".
const char* name(implementation impl);
const char* name(map_kind map);
using apps::name;
const char* name(fusion_strategy fusion);

}  // namespace jacobi
