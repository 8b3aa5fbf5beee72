// The words of routines.def: which buffers a call has, which way their data goes, and what handle says where they live.
#pragma once

#include "declaration.h"
#include "handle_table.h"
#include "services.h"

namespace imbrex::sessions::IX_MPI {

/// A buffer argument. Its bytes are worked out only where they are counted.
struct buffer {
  enum class peers : unsigned char { one, ranks, sources, targets };
  enum class amount : unsigned char { count, counts, large_counts, own_count, own_large_count, bytes };

  const void* address = nullptr;
  MPI_Count count = 0;
  const void* counts = nullptr;
  MPI_Datatype type{};
  const MPI_Datatype* types = nullptr;
  MPI_Comm comm{};
  amount how = amount::count;
  peers times = peers::one;
  bool sent = false, received = false;

  buffer per(MPI_Comm c, peers p) const {
    buffer b = *this;
    b.comm = c;
    b.times = p;
    return b;
  }
  buffer per_rank(MPI_Comm c) const { return per(c, peers::ranks); }
  buffer per_source(MPI_Comm c) const { return per(c, peers::sources); }
  buffer per_target(MPI_Comm c) const { return per(c, peers::targets); }

  /// Significant at the root only: elsewhere there is no buffer. Between two groups the root says MPI_ROOT.
  buffer at(int root, MPI_Comm c) const {
    int rank = 0;
    buffer b = *this;
    if (root != MPI_ROOT && (mpi.Comm_rank(c, &rank) != MPI_SUCCESS || rank != root)) b.address = nullptr;
    return b;
  }

  /// Whether there is a buffer that an MPI would have to check.
  bool present() const { return address != nullptr && address != MPI_IN_PLACE; }
};

/// The size of a type in bytes; 0 when the MPI has none.
inline std::uint64_t size_of(MPI_Datatype type) {
  int size = 0;
  return mpi.Type_size(type, &size) == MPI_SUCCESS && size > 0 ? static_cast<std::uint64_t>(size) : 0;
}

/// Of buffers with counts of their own, or for many peers.
std::uint64_t varied_bytes_of(buffer b);

/// The bytes of a buffer, as the call's counts and types give them. What a buffer is like is known when this is
/// compiled into a wrapper; so most come down to the product, and buffers never lie in memory.
inline std::uint64_t bytes_of(const buffer& b) {
  if (b.how != buffer::amount::count || b.times != buffer::peers::one) return varied_bytes_of(b);
  return b.count <= 0 ? 0 : static_cast<std::uint64_t>(b.count) * size_of(b.type);
}

inline buffer flat(const void* address, MPI_Count count, MPI_Datatype type, bool sent, bool received) {
  buffer b;
  b.address = address;
  b.count = count;
  b.type = type;
  b.sent = sent;
  b.received = received;
  return b;
}
inline buffer out(const void* a, MPI_Count count, MPI_Datatype type) { return flat(a, count, type, true, false); }
inline buffer in(const void* a, MPI_Count count, MPI_Datatype type) { return flat(a, count, type, false, true); }
inline buffer both(const void* a, MPI_Count count, MPI_Datatype type) { return flat(a, count, type, true, true); }
inline buffer broadcast(const void* a, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  int rank = 0;
  const bool is_root = root == MPI_ROOT || (mpi.Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root);
  return flat(root == MPI_PROC_NULL ? nullptr : a, count, type, is_root, !is_root);
}
inline buffer memory(const void* a, MPI_Aint bytes) {
  buffer b = flat(a, bytes, {}, true, true);
  b.how = buffer::amount::bytes;
  return b;
}

inline buffer::amount amount_of(const int*) { return buffer::amount::counts; }
inline buffer::amount amount_of(const MPI_Count*) { return buffer::amount::large_counts; }
template <class Count>
buffer varied(const void* a, const Count* counts, MPI_Datatype type, const MPI_Datatype* types, bool sent) {
  buffer b = flat(a, 0, type, sent, !sent);
  b.counts = counts;
  b.types = types;
  b.how = amount_of(counts);
  return b;
}
template <class Count>
buffer out_v(const void* a, const Count* counts, MPI_Datatype type) {
  return varied(a, counts, type, nullptr, true);
}
template <class Count>
buffer in_v(const void* a, const Count* counts, MPI_Datatype type) {
  return varied(a, counts, type, nullptr, false);
}
template <class Count>
buffer out_w(const void* a, const Count* counts, const MPI_Datatype* types) {
  return varied(a, counts, {}, types, true);
}
template <class Count>
buffer in_w(const void* a, const Count* counts, const MPI_Datatype* types) {
  return varied(a, counts, {}, types, false);
}
/// What arrives here of a reduction that is scattered: counts[own rank].
template <class Count>
buffer in_own(const void* a, const Count* counts, MPI_Datatype type, MPI_Comm comm) {
  buffer b = varied(a, counts, type, nullptr, false);
  b.comm = comm;
  b.how = b.how == buffer::amount::counts ? buffer::amount::own_count : buffer::amount::own_large_count;
  return b;
}

/// The handle of a call that may carry a declaration.
struct where {
  std::uintptr_t handle = 0;
  bool has_handle = false;
};
inline where on(MPI_Comm comm) { return {value_of(comm), true}; }
inline where on_file(MPI_File file) { return {value_of(file), true}; }
inline where on_window(MPI_Win win) { return {value_of(win), true}; }
inline where nowhere() { return {}; }

}  // namespace imbrex::sessions::IX_MPI
