#include "staging/datatype_runs.h"

#include <climits>

#include "base/settings.h"
#include "routines/thread_state.h"
#include "staging/datatype_contents.h"

namespace imbrex::sessions::IX_MPI {

namespace {

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  mpi.Type_get_extent(type, &lower, &extent);
  return extent;
}

/// The bytes that the MPI itself writes when it unpacks an element; for kinds of types that are not known here.
data_runs runs_by_unpacking(MPI_Datatype type, std::size_t size, MPI_Aint begin, MPI_Aint length) {
  if (size > INT_MAX) give_up("%s: stage can't take apart a datatype of %zu B", name_of(here.routine), size);
  std::vector<char> packed(size, 1);
  std::vector<char> marked(static_cast<std::size_t>(length), 0);
  int at = 0;
  mpi.Type_commit(&type);  // parts of others need not be
  mpi.Unpack(packed.data(), static_cast<int>(size), &at, marked.data() - begin, 1, type, mpi.comm_world);
  data_runs found;
  for (std::size_t i = 0; i < marked.size();) {
    std::size_t end = i;
    while (end < marked.size() && marked[end] != 0) ++end;
    found.add({begin + static_cast<MPI_Aint>(i), end - i});
    i = end + 1;
  }
  return found;
}

/// Of a type that has no parts: one run, or few (MPI_SHORT_INT).
data_runs runs_of_whole(MPI_Datatype type) {
  MPI_Aint begin = 0;
  MPI_Aint length = 0;
  MPI_Count size = 0;
  mpi.Type_get_true_extent(type, &begin, &length);
  mpi.Type_size_x(type, &size);
  if (size <= 0) return {};
  if (size != length) return runs_by_unpacking(type, static_cast<std::size_t>(size), begin, length);
  data_runs whole;
  whole.add({begin, static_cast<std::size_t>(size)});
  return whole;
}

data_runs repeated(const data_runs& one, MPI_Aint count, MPI_Aint stride) {
  data_runs made;
  made.add_repeated(one, 0, count, stride);
  return made;
}

/// count, block length, stride in `unit`s.
data_runs runs_of_vector(const datatype_contents& c, MPI_Aint unit) {
  data_runs made;
  const data_runs block = repeated(runs_of_type(c.type(0)), c.number(1), extent_of(c.type(0)));
  made.add_repeated(block, 0, c.number(0), c.number(2) * unit);
  return made;
}

/// count, block lengths, displacements in `unit`s.
data_runs runs_of_blocks(const datatype_contents& c, MPI_Aint unit) {
  data_runs made;
  const data_runs one = runs_of_type(c.type(0));
  const MPI_Aint extent = extent_of(c.type(0));
  const MPI_Aint n = c.number(0);
  for (MPI_Aint i = 0; i < n; ++i) made.add_repeated(one, c.number(1 + n + i) * unit, c.number(1 + i), extent);
  return made;
}

/// count, block length, displacements in `unit`s.
data_runs runs_of_equal_blocks(const datatype_contents& c, MPI_Aint unit) {
  data_runs made;
  const data_runs block = repeated(runs_of_type(c.type(0)), c.number(1), extent_of(c.type(0)));
  for (MPI_Aint i = 0; i < c.number(0); ++i) made.add_repeated(block, c.number(2 + i) * unit, 1, 0);
  return made;
}

data_runs runs_of_struct(const datatype_contents& c) {
  data_runs made;
  const MPI_Aint n = c.number(0);
  for (MPI_Aint i = 0; i < n; ++i) {
    made.add_repeated(runs_of_type(c.type(i)), c.number(1 + n + i), c.number(1 + i), extent_of(c.type(i)));
  }
  return made;
}

/// number of dimensions, sizes, sizes of the part, starts, order; with large counts the order comes second.
data_runs runs_of_subarray(const datatype_contents& c) {
  const MPI_Aint n = c.number(0);
  const MPI_Aint sizes = c.has_large_counts() ? 2 : 1;
  const bool last_is_fastest = c.number(c.has_large_counts() ? 1 : 1 + 3 * n) == MPI_ORDER_C;
  data_runs part = runs_of_type(c.type(0));
  MPI_Aint stride = extent_of(c.type(0));
  for (MPI_Aint i = 0; i < n; ++i) {
    const MPI_Aint d = sizes + (last_is_fastest ? n - 1 - i : i);
    data_runs next;
    next.add_repeated(part, c.number(d + 2 * n) * stride, c.number(d + n), stride);
    part = next;
    stride *= c.number(d);
  }
  return part;
}

data_runs untidy_runs(MPI_Datatype type) {
  const envelope e = envelope_of(type);
  if (e.combiner == MPI_COMBINER_NAMED || e.combiner == MPI_COMBINER_DARRAY) return runs_of_whole(type);
  const datatype_contents c(type, e);
  switch (e.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return runs_of_type(c.type(0));
    case MPI_COMBINER_CONTIGUOUS: return repeated(runs_of_type(c.type(0)), c.number(0), extent_of(c.type(0)));
    case MPI_COMBINER_VECTOR: return runs_of_vector(c, extent_of(c.type(0)));
    case MPI_COMBINER_HVECTOR: return runs_of_vector(c, 1);
    case MPI_COMBINER_INDEXED: return runs_of_blocks(c, extent_of(c.type(0)));
    case MPI_COMBINER_HINDEXED: return runs_of_blocks(c, 1);
    case MPI_COMBINER_INDEXED_BLOCK: return runs_of_equal_blocks(c, extent_of(c.type(0)));
    case MPI_COMBINER_HINDEXED_BLOCK: return runs_of_equal_blocks(c, 1);
    case MPI_COMBINER_STRUCT: return runs_of_struct(c);
    case MPI_COMBINER_SUBARRAY: return runs_of_subarray(c);
    default: return runs_of_whole(type);
  }
}

}  // namespace

data_runs runs_of_type(MPI_Datatype type) {
  data_runs found = untidy_runs(type);
  found.tidy();
  return found;
}

}  // namespace imbrex::sessions::IX_MPI
