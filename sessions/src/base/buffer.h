// The words of routines.def: which buffers a call has, which way their data goes, and what handle says where they live.
#pragma once

#include "base/declaration.h"
#include "base/handle_table.h"
#include "base/services.h"

namespace imbrex::sessions::IX_MPI {

/// Whether this rank is the root. Between two groups the root says MPI_ROOT, and the other group gives its number.
inline bool is_root(int root, MPI_Comm comm) {
  if (root == MPI_ROOT) return true;
  int rank = 0;
  int inter = 0;
  if (mpi.Comm_rank(comm, &rank) != MPI_SUCCESS || rank != root) return false;
  return mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter == 0;
}

/// A buffer argument. Its bytes are worked out only where they are counted.
struct buffer {
  /// `ranks` are those that it exchanges data with (the other group of an intercommunicator), `members` its own
  /// group's.
  enum class peers : unsigned char { one, ranks, members, sources, targets };
  enum class amount : unsigned char { count, counts, large_counts, own_count, own_large_count, bytes };
  /// How much the call fills of what it receives in: all of it, the beginning that the status tells of, or parts.
  enum class filling : unsigned char { whole, by_status, in_part };

  const void* address = nullptr;
  MPI_Count count = 0;
  int parts = 0;  ///< of a partitioned message: so many equal ones, handed over one by one
  const void* counts = nullptr;
  const void* displs = nullptr;
  MPI_Datatype type{};
  const MPI_Datatype* types = nullptr;
  MPI_Comm comm{};
  amount how = amount::count;
  peers times = peers::one;
  filling filled = filling::whole;
  bool sent = false, received = false;
  bool wide_displs = false;            ///< MPI_Aint, else int
  bool absent = false;                 ///< not significant at this rank
  bool contributions = false;          ///< in place: what comes in for all members lies in it
  MPI_Aint first_byte = 0, size = -1;  ///< of packed data, which has no type; -1: what counts and types say

  buffer per(MPI_Comm c, peers p) const {
    buffer b = *this;
    b.comm = c;
    b.times = p;
    return b;
  }
  buffer per_rank(MPI_Comm c) const { return per(c, peers::ranks); }
  buffer per_member(MPI_Comm c) const { return per(c, peers::members); }
  /// Some of the neighbours may be MPI_PROC_NULL, whose parts stay as they are.
  buffer per_source(MPI_Comm c) const { return per(c, peers::sources).in_part(); }
  buffer per_target(MPI_Comm c) const { return per(c, peers::targets); }

  /// Significant at the root only: elsewhere there is no buffer.
  buffer at(int root, MPI_Comm c) const { return unless(!is_root(root, c)); }
  /// What the ranks give to, or get from, the root: between two groups not significant in the root's.
  buffer beside(int root) const { return unless(root == MPI_ROOT || root == MPI_PROC_NULL); }
  buffer unless(bool not_significant) const {
    buffer b = *this;
    if (not_significant) b.address = nullptr;
    b.absent = absent || not_significant;
    return b;
  }

  buffer in_part() const {
    buffer b = *this;
    b.filled = filling::in_part;
    return b;
  }
  buffer in_parts(int n) const {
    buffer b = *this;
    b.parts = n;
    return b;
  }
  /// Of a reduction that is scattered: in place, what comes in for all members lies here.
  buffer reduced_from(const void* sendbuf, MPI_Comm c) const {
    buffer b = *this;
    b.comm = c;
    b.contributions = sendbuf == MPI_IN_PLACE;
    return b;
  }
  /// Packed data: the bytes from `begin` to `end`.
  buffer packed(MPI_Aint begin, MPI_Aint end) const {
    buffer b = in_part();
    b.first_byte = begin;
    b.size = end > begin ? end - begin : 0;
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

/// How many blocks of `count`, or of counts[i], there are.
int num_peers(const buffer& b);

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
/// What comes may be less: the status says how much.
inline buffer arriving(const void* a, MPI_Count count, MPI_Datatype type) {
  buffer b = in(a, count, type);
  b.filled = buffer::filling::by_status;
  return b;
}
/// Of nonblocking reads, whose statuses do not say how much in some MPIs: what does not come stays as it is.
inline buffer arriving_unsaid(const void* a, MPI_Count count, MPI_Datatype type) {
  return in(a, count, type).in_part();
}
inline buffer both(const void* a, MPI_Count count, MPI_Datatype type) { return flat(a, count, type, true, true); }
inline buffer broadcast(const void* a, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  const bool sends = is_root(root, comm);
  return flat(a, count, type, sends, !sends).unless(root == MPI_PROC_NULL);
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
template <class Displ>
buffer placed(buffer b, const Displ* displs) {
  b.displs = displs;
  b.wide_displs = sizeof(Displ) == sizeof(MPI_Aint);
  b.filled = buffer::filling::in_part;
  return b;
}
template <class Count, class Displ>
buffer out_v(const void* a, const Count* counts, const Displ* displs, MPI_Datatype type) {
  return placed(varied(a, counts, type, nullptr, true), displs);
}
template <class Count, class Displ>
buffer in_v(const void* a, const Count* counts, const Displ* displs, MPI_Datatype type) {
  return placed(varied(a, counts, type, nullptr, false), displs);
}
template <class Count, class Displ>
buffer out_w(const void* a, const Count* counts, const Displ* displs, const MPI_Datatype* types) {
  return placed(varied(a, counts, {}, types, true), displs);
}
template <class Count, class Displ>
buffer in_w(const void* a, const Count* counts, const Displ* displs, const MPI_Datatype* types) {
  return placed(varied(a, counts, {}, types, false), displs);
}
/// Blocks of counts[i], one behind the other.
template <class Count>
buffer out_row(const void* a, const Count* counts, MPI_Datatype type) {
  return varied(a, counts, type, nullptr, true);
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
  bool is_window = false;
  bool is_file = false;
  int rank = MPI_PROC_NULL;  ///< whose window it is that a one-sided operation goes to
};
inline where on(MPI_Comm comm) { return {value_of(comm), true}; }
inline where on_file(MPI_File file) {
  where w = {value_of(file), true};
  w.is_file = true;
  return w;
}
inline where on_window(MPI_Win win, int rank = MPI_PROC_NULL) {
  where w = {value_of(win), true, true};
  w.rank = rank;
  return w;
}
inline where nowhere() { return {}; }

}  // namespace imbrex::sessions::IX_MPI
