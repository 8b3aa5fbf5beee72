// A buffer of a call, and its stand-in on the host while it is device memory.
#pragma once

#include "services.h"
#include "staging_memory.h"

namespace imbrex::sessions::IX_MPI {

/// How much memory `count` elements of a type span, and from where.
struct span {
  MPI_Aint begin = 0;  ///< of the first byte, from the buffer's address
  std::size_t bytes = 0;
  bool dense = true;  ///< every byte of it is data
};
span span_of(MPI_Count count, MPI_Datatype type);

/// Elements that blocks of counts[i] elements at displacements[i] reach to.
MPI_Count reach_of(const int* counts, const int* displacements, int num_blocks);

class staged_buffer {
 public:
  staged_buffer() = default;
  /// `sent`: its contents are needed on the host; what is only received is copied too where gaps must survive. The copy
  /// is started, not waited for.
  staged_buffer(const void* address, MPI_Count count, MPI_Datatype type, bool sent);
  staged_buffer(staged_buffer&& other) noexcept { *this = static_cast<staged_buffer&&>(other); }
  staged_buffer& operator=(staged_buffer&& other) noexcept;
  ~staged_buffer() { give_pinned(pinned_); }

  bool staged() const { return static_cast<bool>(pinned_); }

  /// What the MPI is to be given: the buffer itself where it is on the host.
  void* address() const { return staged() ? pinned_.data - span_.begin : address_; }

  /// Starts to send the contents to the host again.
  void start_refresh();

  /// Starts to copy back; only the first `bytes` of a dense buffer.
  void start_return(std::size_t bytes = ~std::size_t{0});

 private:
  void* address_ = nullptr;
  span span_;
  pinned_memory pinned_;
};

}  // namespace imbrex::sessions::IX_MPI
