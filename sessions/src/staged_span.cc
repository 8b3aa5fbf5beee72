#include "staged_span.h"

#include <algorithm>

namespace imbrex::sessions::IX_MPI {

namespace {

struct layout {
  MPI_Aint extent = 0;
  MPI_Aint begin = 0;  ///< of the first byte
  MPI_Aint length = 0;
  MPI_Count size = 0;
  bool is_named = false;
};

layout layout_of(MPI_Datatype type) {
  layout l;
  MPI_Aint lower = 0;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  mpi.Type_get_extent(type, &lower, &l.extent);
  mpi.Type_get_true_extent(type, &l.begin, &l.length);
  mpi.Type_size_x(type, &l.size);
  mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  l.is_named = combiner == MPI_COMBINER_NAMED;
  return l;
}

/// Grows with the blocks of a buffer.
class hull {
 public:
  void add(MPI_Aint offset, MPI_Count count, const layout& l) {
    if (count <= 0 || l.length == 0) return;
    const MPI_Aint last = static_cast<MPI_Aint>(count - 1) * l.extent;
    const MPI_Aint begin = offset + l.begin + std::min<MPI_Aint>(0, last);
    const MPI_Aint end = offset + l.begin + l.length + std::max<MPI_Aint>(0, last);
    begin_ = num_blocks_ == 0 ? begin : std::min(begin_, begin);
    end_ = num_blocks_ == 0 ? end : std::max(end_, end);
    dense_ = l.size == l.length && (l.size == l.extent || count == 1);
    in_order_ = dense_ && l.is_named;
    ++num_blocks_;
  }
  span found() const {
    return {begin_, static_cast<std::size_t>(end_ - begin_), dense_ && num_blocks_ <= 1, in_order_ && num_blocks_ == 1};
  }

 private:
  MPI_Aint begin_ = 0;
  MPI_Aint end_ = 0;
  bool dense_ = true;
  bool in_order_ = false;
  int num_blocks_ = 0;
};

MPI_Aint displacement(const buffer& b, int i) {
  return b.wide_displs ? static_cast<const MPI_Aint*>(b.displs)[i] : static_cast<const int*>(b.displs)[i];
}

/// Displacements count bytes beside types of their own, else extents of the one type.
template <class Count>
span span_of_blocks(const buffer& b) {
  const auto* counts = static_cast<const Count*>(b.counts);
  const int n = num_peers(b);
  hull all;
  layout l;
  for (int i = 0, known = 0; i < n; ++i) {
    if (counts[i] == 0) continue;
    if (b.types != nullptr || known++ == 0) l = layout_of(b.types == nullptr ? b.type : b.types[i]);
    all.add(displacement(b, i) * (b.types == nullptr ? l.extent : 1), counts[i], l);
  }
  return all.found();
}

span span_of_count(MPI_Count count, MPI_Datatype type) {
  hull all;
  if (count > 0) all.add(0, count, layout_of(type));
  return all.found();
}

template <class Count>
MPI_Count sum_of_counts(const buffer& b, int n) {
  MPI_Count sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<const Count*>(b.counts)[i];
  return sum;
}

template <class Count>
span span_of_row(const buffer& b) {
  return span_of_count(sum_of_counts<Count>(b, num_peers(b)), b.type);
}

template <class Count>
span span_of_own(const buffer& b) {
  if (b.contributions) {
    int members = 0;
    mpi.Comm_size(b.comm, &members);
    return span_of_count(sum_of_counts<Count>(b, members), b.type);
  }
  int rank = 0;
  mpi.Comm_rank(b.comm, &rank);
  return span_of_count(static_cast<const Count*>(b.counts)[rank], b.type);
}

span span_of_same(const buffer& b) {
  if (b.count <= 0) return {};
  int times = num_peers(b);
  if (b.contributions) mpi.Comm_size(b.comm, &times);
  return span_of_count(b.count * times, b.type);
}

}  // namespace

span span_of(const buffer& b) {
  if (b.size >= 0) return {b.first_byte, static_cast<std::size_t>(b.size), true, false};
  const bool in_row = b.displs == nullptr;
  switch (b.how) {
    case buffer::amount::count: return span_of_same(b);
    case buffer::amount::counts: return in_row ? span_of_row<int>(b) : span_of_blocks<int>(b);
    case buffer::amount::large_counts: return in_row ? span_of_row<MPI_Count>(b) : span_of_blocks<MPI_Count>(b);
    case buffer::amount::own_count: return span_of_own<int>(b);
    case buffer::amount::own_large_count: return span_of_own<MPI_Count>(b);
    case buffer::amount::bytes: return {0, static_cast<std::size_t>(b.count), true, true};
  }
  return {};
}

}  // namespace imbrex::sessions::IX_MPI
