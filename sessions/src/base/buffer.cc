#include "base/buffer.h"

namespace imbrex::sessions::IX_MPI {

namespace {

int ranks_of(MPI_Comm comm) {
  int n = 0;
  int inter = 0;
  mpi.Comm_test_inter(comm, &inter);
  inter != 0 ? mpi.Comm_remote_size(comm, &n) : mpi.Comm_size(comm, &n);
  return n;
}

int members_of(MPI_Comm comm) {
  int n = 0;
  mpi.Comm_size(comm, &n);
  return n;
}

int neighbours_of(MPI_Comm comm, bool targets) {
  int topology = MPI_UNDEFINED;
  int n = 0;
  mpi.Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    mpi.Cartdim_get(comm, &n);
    return 2 * n;
  }
  if (topology == MPI_DIST_GRAPH) {
    int sources = 0;
    int weighted = 0;
    mpi.Dist_graph_neighbors_count(comm, &sources, &n, &weighted);
    return targets ? n : sources;
  }
  int rank = 0;
  if (topology == MPI_GRAPH && mpi.Comm_rank(comm, &rank) == MPI_SUCCESS) mpi.Graph_neighbors_count(comm, rank, &n);
  return n;
}

template <class Count>
std::uint64_t sum_of(const buffer& b) {
  const auto* counts = static_cast<const Count*>(b.counts);
  const int n = num_peers(b);
  std::uint64_t sum = 0;
  for (int i = 0; counts != nullptr && i < n; ++i) {
    sum += static_cast<std::uint64_t>(counts[i]) * (b.types == nullptr ? 1 : size_of(b.types[i]));
  }
  return b.types == nullptr ? sum * size_of(b.type) : sum;
}

template <class Count>
std::uint64_t own_bytes(const buffer& b) {
  int rank = 0;
  mpi.Comm_rank(b.comm, &rank);
  return static_cast<std::uint64_t>(static_cast<const Count*>(b.counts)[rank]) * size_of(b.type);
}

}  // namespace

int num_peers(const buffer& b) {
  switch (b.times) {
    case buffer::peers::one: return 1;
    case buffer::peers::ranks: return ranks_of(b.comm);
    case buffer::peers::members: return members_of(b.comm);
    case buffer::peers::sources: return neighbours_of(b.comm, false);
    case buffer::peers::targets: return neighbours_of(b.comm, true);
  }
  return 0;
}

std::uint64_t varied_bytes_of(buffer b) {
  switch (b.how) {
    case buffer::amount::count:
      if (b.count <= 0) return 0;
      return static_cast<std::uint64_t>(b.count) * size_of(b.type) * static_cast<std::uint64_t>(num_peers(b));
    case buffer::amount::counts: return sum_of<int>(b);
    case buffer::amount::large_counts: return sum_of<MPI_Count>(b);
    case buffer::amount::own_count: return own_bytes<int>(b);
    case buffer::amount::own_large_count: return own_bytes<MPI_Count>(b);
    case buffer::amount::bytes: return static_cast<std::uint64_t>(b.count);
  }
  return 0;
}

}  // namespace imbrex::sessions::IX_MPI
