#include "staging/staged_span.h"

#include <algorithm>

#include "staging/datatype_contents.h"
#include "staging/datatype_runs.h"

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
  mpi.Type_get_extent(type, &lower, &l.extent);
  mpi.Type_get_true_extent(type, &l.begin, &l.length);
  mpi.Type_size_x(type, &l.size);
  l.is_named = envelope_of(type).combiner == MPI_COMBINER_NAMED;
  return l;
}

/// Grows with the blocks of a buffer.
class hull {
 public:
  void add(MPI_Aint offset, MPI_Count count, MPI_Datatype /*type*/, const layout& l) {
    if (l.length == 0) return;
    const MPI_Aint last = static_cast<MPI_Aint>(count - 1) * l.extent;
    const MPI_Aint begin = offset + l.begin + std::min<MPI_Aint>(0, last);
    const MPI_Aint end = offset + l.begin + l.length + std::max<MPI_Aint>(0, last);
    begin_ = num_blocks_ == 0 ? begin : std::min(begin_, begin);
    end_ = num_blocks_ == 0 ? end : std::max(end_, end);
    dense_ = l.size == l.length && (l.size == l.extent || count == 1);
    in_order_ = dense_ && l.is_named;
    ++num_blocks_;
  }
  void add_bytes(MPI_Aint begin, MPI_Count bytes, bool in_order) {
    begin_ = begin;
    end_ = begin + static_cast<MPI_Aint>(bytes);
    in_order_ = in_order;
    num_blocks_ = 1;
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

/// The data within the same blocks.
class contents {
 public:
  void add(MPI_Aint offset, MPI_Count count, MPI_Datatype type, const layout& l) {
    if (num_blocks_++ == 0 || type != known_) element_ = runs_of_type(type);
    known_ = type;
    runs_.add_repeated(element_, offset, static_cast<MPI_Aint>(count), l.extent);
  }
  void add_bytes(MPI_Aint begin, MPI_Count bytes, bool /*in_order*/) {
    runs_.add({begin, static_cast<std::size_t>(bytes)});
  }
  data_runs found() {
    runs_.tidy();
    return runs_;
  }

 private:
  MPI_Datatype known_{};
  data_runs element_;
  data_runs runs_;
  int num_blocks_ = 0;
};

MPI_Aint displacement(const buffer& b, int i) {
  return b.wide_displs ? static_cast<const MPI_Aint*>(b.displs)[i] : static_cast<const int*>(b.displs)[i];
}

/// Displacements count bytes beside types of their own, else extents of the one type.
template <class Count, class Blocks>
void add_placed(const buffer& b, Blocks& all) {
  const auto* counts = static_cast<const Count*>(b.counts);
  const int n = num_peers(b);
  layout l;
  for (int i = 0, known = 0; i < n; ++i) {
    if (counts[i] <= 0) continue;
    const MPI_Datatype type = b.types == nullptr ? b.type : b.types[i];
    if (b.types != nullptr || known++ == 0) l = layout_of(type);
    all.add(displacement(b, i) * (b.types == nullptr ? l.extent : 1), counts[i], type, l);
  }
}

template <class Blocks>
void add_count(MPI_Count count, MPI_Datatype type, Blocks& all) {
  if (count > 0) all.add(0, count, type, layout_of(type));
}

template <class Count>
MPI_Count sum_of_counts(const buffer& b, int n) {
  MPI_Count sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<const Count*>(b.counts)[i];
  return sum;
}

template <class Count, class Blocks>
void add_counts(const buffer& b, Blocks& all) {
  if (b.displs != nullptr) return add_placed<Count>(b, all);
  add_count(sum_of_counts<Count>(b, num_peers(b)), b.type, all);
}

template <class Count, class Blocks>
void add_own(const buffer& b, Blocks& all) {
  if (b.contributions) {
    int members = 0;
    mpi.Comm_size(b.comm, &members);
    return add_count(sum_of_counts<Count>(b, members), b.type, all);
  }
  int rank = 0;
  mpi.Comm_rank(b.comm, &rank);
  add_count(static_cast<const Count*>(b.counts)[rank], b.type, all);
}

template <class Blocks>
void add_same(const buffer& b, Blocks& all) {
  if (b.count <= 0) return;
  int times = num_peers(b);
  if (b.contributions) mpi.Comm_size(b.comm, &times);
  add_count(b.count * times, b.type, all);
}

/// Every block of a buffer, to a hull or to its contents.
template <class Blocks>
void add_blocks(const buffer& b, Blocks& all) {
  if (b.size >= 0) return all.add_bytes(b.first_byte, b.size, false);
  switch (b.how) {
    case buffer::amount::count: return add_same(b, all);
    case buffer::amount::counts: return add_counts<int>(b, all);
    case buffer::amount::large_counts: return add_counts<MPI_Count>(b, all);
    case buffer::amount::own_count: return add_own<int>(b, all);
    case buffer::amount::own_large_count: return add_own<MPI_Count>(b, all);
    case buffer::amount::bytes: return all.add_bytes(0, b.count, true);
  }
}

}  // namespace

span span_of(const buffer& b) {
  hull all;
  add_blocks(b, all);
  return all.found();
}

data_runs runs_of(const buffer& b) {
  contents all;
  add_blocks(b, all);
  return all.found();
}

}  // namespace imbrex::sessions::IX_MPI
