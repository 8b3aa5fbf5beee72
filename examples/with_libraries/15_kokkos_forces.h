#pragma once

#include <memory>

struct CUstream_st;  // what CUDA calls cudaStream_t

// What the Kokkos code of this example offers; it knows nothing of imbrex, and this header nothing of Kokkos.

/// Kokkos as long as it lives: one in main, around the job.
class kokkos_session {
 public:
  kokkos_session(int& argc, char** argv);
  ~kokkos_session();
  kokkos_session(const kokkos_session&) = delete;
  kokkos_session& operator=(const kokkos_session&) = delete;
};

/// Whether Kokkos was built with CUDA.
bool kokkos_has_gpus();

/// Atoms that attract each other by Lennard-Jones forces, all with all. Every function enqueues kernels into the stream
/// that it was made for, or, without one, runs them at once.
class kokkos_droplet {
 public:
  virtual ~kokkos_droplet() = default;
  /// x, v, f: 3 n numbers each, in the stream's GPU's memory, or the host's without a stream.
  static std::unique_ptr<kokkos_droplet> make(CUstream_st* stream, int n, double* x, double* v, double* f);

  virtual void place(double spacing) = 0;
  virtual void forces() = 0;
  virtual void kick(double dt) = 0;   ///< v += dt f
  virtual void drift(double dt) = 0;  ///< x += dt v
  /// Kinetic and potential energy of each atom, n numbers.
  virtual void energies(double* each) = 0;
};
