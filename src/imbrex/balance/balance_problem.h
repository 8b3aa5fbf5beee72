#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

/// What load balancing knows: elements and what a step of each costs, who sends how much to whom, and the PEs and GPUs
/// that there are. Plain values, without a scheduler or chares: they are measured, recorded (balance_record.h), made up
/// (example_problem.h), judged (balance_plan.h), and given to a strategy (balance_strategy.h).
namespace imbrex {

inline constexpr int no_gpu = -1;
inline constexpr std::uint64_t unlimited_bytes = UINT64_MAX;

/// What can be moved. Its number is its place in `balance_problem::elements`.
struct balance_element {
  double host_seconds = 0;         ///< per step, on a PE of rate 1
  double gpu_seconds = 0;          ///< per step that it keeps a GPU of rate 1 busy
  std::uint64_t host_bytes = 0;    ///< memory of the host; has no limit here
  std::uint64_t device_bytes = 0;  ///< memory of the GPU of its PE
  std::uint64_t move_bytes = 0;    ///< what travels when it moves
  int pe = 0;                      ///< where it is now
  bool pinned = false;             ///< stays there

  /// Whether it can only be on a PE that has a GPU.
  bool needs_gpu() const { return gpu_seconds > 0 || device_bytes > 0; }
};

/// One scheduler thread.
struct balance_pe {
  int rank = 0;  ///< its process
  int node = 0;  ///< its machine
  int gpu = no_gpu;
  double rate = 1;                ///< what takes a second at rate 1 takes 1 / rate here
  double background_seconds = 0;  ///< per step, on this PE as it is: what no move takes away
};

/// A GPU. Any number of PEs of one node share it.
struct balance_gpu {
  double rate = 1;
  double background_seconds = 0;
  std::uint64_t memory_bytes = unlimited_bytes;  ///< what the `device_bytes` of its elements may sum up to
};

/// Bytes that two elements exchange in a step, both ways together.
struct balance_traffic {
  int a = 0;
  int b = 0;
  double bytes = 0;
};

/// Who exchanges how much with whom, row by row: the partners of element i are `partner[k]` for k from `first[i]` to
/// `first[i + 1]`, by number. Every pair is in the rows of both. All three are empty where nothing is known.
struct communication_graph {
  std::vector<std::size_t> first;
  std::vector<int> partner;
  std::vector<double> bytes;

  bool empty() const { return partner.empty(); }
  /// In any order; what a pair exchanges adds up; what an element sends to itself is left out. Throws `usage_error` for
  /// an element that there is not, and for bytes that are negative or no number.
  static communication_graph of(std::size_t num_elements, const std::vector<balance_traffic>& all);
};

/// What a strategy is given: elements and their loads, what they send each other, and the PEs that there are.
struct balance_problem {
  std::vector<balance_element> elements;
  communication_graph communication;
  /// Where each element is in the space that the program computes; empty where there is none.
  std::vector<std::array<double, 3>> places;
  int num_dimensions = 0;  ///< how many coordinates count: 1 to 3 where there are places
  std::vector<balance_pe> pes;
  std::vector<balance_gpu> gpus;
};

/// Throws `usage_error` that names what cannot be: no PE, a number that is none or out of range, an element that needs
/// a GPU on a PE without one, a GPU shared by nodes, a graph of another size or with a pair in one row only.
void check_problem(const balance_problem& problem);

}  // namespace imbrex
