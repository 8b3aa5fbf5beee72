#include "mpi/mpi_agreement.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "options.h"

namespace jacobi {
namespace {

struct failure {
  std::string kind, what;
};

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

void broadcast(MPI_Comm comm, std::string& text, int root) {
  int size = static_cast<int>(text.size());
  MPI_Bcast(&size, 1, MPI_INT, root, comm);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), size, MPI_CHAR, root, comm);
}

failure failure_of(const std::function<void()>& step) {
  try {
    step();
  } catch (const imbrex::error& e) {
    return {e.kind(), e.what()};
  } catch (const std::bad_alloc&) {
    return {"out_of_memory", "out of memory: use a smaller grid or more ranks"};
  } catch (const std::exception& e) {
    return {"error", e.what()};
  }
  return {};
}

}  // namespace

void agree(MPI_Comm comm, const std::function<void()>& step) {
  failure mine = failure_of(step);
  const int nobody = size_of(comm);
  int failing = mine.kind.empty() ? nobody : rank_of(comm);
  MPI_Allreduce(MPI_IN_PLACE, &failing, 1, MPI_INT, MPI_MIN, comm);
  if (failing == nobody) return;
  broadcast(comm, mine.kind, failing);
  broadcast(comm, mine.what, failing);
  if (mine.kind == "error") throw imbrex::error(mine.what);
  imbrex::throw_error(mine.kind, mine.what);
}

void alone(const std::function<void()>& step) {
  try {
    step();
  } catch (const imbrex::error& e) {
    throw std::runtime_error(e.what());
  }
}

void agree_on_options(MPI_Comm comm, const std::string& digest) {
  const int num_ranks = size_of(comm), rank = rank_of(comm);
  std::uint64_t mine = imbrex::hash_bytes(digest);
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(num_ranks));
  MPI_Allgather(&mine, 1, MPI_UINT64_T, hashes.data(), 1, MPI_UINT64_T, comm);
  const auto odd = std::ranges::find_if(hashes, [&](std::uint64_t hash) { return hash != hashes[0]; });
  if (odd == hashes.end()) return;
  const int odd_rank = static_cast<int>(odd - hashes.begin());
  std::string first = digest;
  broadcast(comm, first, 0);
  std::string text = rank == odd_rank ? describe_difference(digest, rank, first, 0) : "";
  broadcast(comm, text, odd_rank);
  throw imbrex::usage_error(text);
}

}  // namespace jacobi
