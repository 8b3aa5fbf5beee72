#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "problem.h"
#include "system/units.h"
#include "thermo_row.h"

namespace md {

/// Where the time of a run went, in seconds: means over the ranks. `other` is what the named phases leave of `total`.
struct phase_times {
  double total = 0, force = 0, neighbour = 0, communication = 0, other = 0;
};

/// How boxes were moved while they ran.
struct balance_facts {
  std::string strategy;  ///< empty: not at all
  std::uint64_t looks = 0, moves = 0;
  double first_efficiency = 1, mean_efficiency = 1;  ///< of loads as measured; the mean without the first
};

/// What there is to say about a run: how it was done and what came of it. Everything but `thermo` and `seconds` is
/// known before the first step.
struct run_facts {
  problem what;
  std::string implementation, device, exchange, instruction_set;
  list_style lists = list_style::half;
  bool ghost_newton = false, deterministic = false;
  std::int64_t num_atoms = 0, num_chares = 0;
  std::array<int, 3> decomposition{};  ///< chares in x, y and z
  int num_ranks = 1, pes_per_rank = 1;
  int num_gpus = 0;                    ///< in all
  std::string gpu_halos, gpu_streams;  ///< how atoms go between boxes on GPUs, and the streams' design
  vector3 box{};                       ///< its lengths
  std::vector<thermo_row> thermo;      ///< in the order of their steps
  phase_times seconds;
  std::int64_t memory_bytes = 0;  ///< of atoms and lists, over all ranks, at the end; 0: not counted
  balance_facts balance;
  std::string command;  ///< the command line
};

double odf(const run_facts& f);                    ///< chares for each PE; need not be whole
double density(const run_facts& f);                ///< the one given, or atoms per volume where another said it
double atom_steps_per_second(const run_facts& f);  ///< 0 without time
double atom_steps_per_pe_second(const run_facts& f);

/// The energy that a run conserves, for each atom: potential energy and the kinetic energy of 3N - 3 degrees of
/// freedom. In the problem's units (metal: eV).
double total_energy(const run_facts& f, const thermo_row& row);

/// As miniMD writes them: LJ, METAL; LJ, EAM.
std::string reference_name(unit_system units);
std::string reference_name(force_style force);

}  // namespace md
