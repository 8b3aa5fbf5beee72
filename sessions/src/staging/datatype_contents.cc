#include "staging/datatype_contents.h"

namespace imbrex::sessions::IX_MPI {

namespace {

/// Whether a type of this kind is the program's to free. Those with parameters (of Fortran's kinds, pairs) are not.
bool is_derived(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
    case MPI_COMBINER_RESIZED: return true;
    default: return false;
  }
}

struct arguments {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
};

template <class T>
std::vector<T> array_of(MPI_Count n) {
  return std::vector<T>(static_cast<std::size_t>(n) + 1);  // of which data() is never null
}

void get_contents(MPI_Datatype type, const envelope& e, arguments& a, std::vector<MPI_Datatype>& types) {
#if MPI_VERSION >= 4
  if (mpi.Type_get_contents_c != nullptr) {
    mpi.Type_get_contents_c(type, e.integers, e.addresses, e.counts, e.types, a.integers.data(), a.addresses.data(),
                            a.counts.data(), types.data());
    return;
  }
#endif
  mpi.Type_get_contents(type, static_cast<int>(e.integers), static_cast<int>(e.addresses), static_cast<int>(e.types),
                        a.integers.data(), a.addresses.data(), types.data());
}

}  // namespace

envelope envelope_of(MPI_Datatype type) {
  envelope e;
#if MPI_VERSION >= 4
  if (mpi.Type_get_envelope_c != nullptr) {
    mpi.Type_get_envelope_c(type, &e.integers, &e.addresses, &e.counts, &e.types, &e.combiner);
    return e;
  }
#endif
  int integers = 0;
  int addresses = 0;
  int types = 0;
  mpi.Type_get_envelope(type, &integers, &addresses, &types, &e.combiner);
  e.integers = integers;
  e.addresses = addresses;
  e.types = types;
  return e;
}

datatype_contents::datatype_contents(MPI_Datatype type, const envelope& e)
    : types_(array_of<MPI_Datatype>(e.types)), has_large_counts_(e.counts > 0) {
  arguments a{array_of<int>(e.integers), array_of<MPI_Aint>(e.addresses), array_of<MPI_Count>(e.counts)};
  get_contents(type, e, a, types_);
  types_.pop_back();
  numbers_.assign(a.integers.begin(), a.integers.end() - 1);
  numbers_.insert(numbers_.end(), a.addresses.begin(), a.addresses.end() - 1);
  numbers_.insert(numbers_.end(), a.counts.begin(), a.counts.end() - 1);
}

datatype_contents::~datatype_contents() {
  for (MPI_Datatype& t : types_) {
    if (is_derived(envelope_of(t).combiner)) mpi.Type_free(&t);
  }
}

}  // namespace imbrex::sessions::IX_MPI
