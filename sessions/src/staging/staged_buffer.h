// A buffer of a call, and its stand-in on the host while it is device memory.
#pragma once

#include <memory>
#include <vector>

#include "driver/buffer_parts.h"
#include "driver/staging_memory.h"
#include "staging/staged_span.h"

namespace imbrex::sessions::IX_MPI {

class staged_buffer {
 public:
  staged_buffer() = default;
  /// Takes a stand-in if the buffer is device memory; copies nothing yet. `in_place`: what is received is input too.
  /// Ends the process for a buffer that lies in device memory and in host memory.
  staged_buffer(const buffer& b, bool in_place);
  staged_buffer(staged_buffer&& other) noexcept { *this = static_cast<staged_buffer&&>(other); }
  staged_buffer& operator=(staged_buffer&& other) noexcept;
  ~staged_buffer() { give_pinned(pinned_); }

  bool staged() const { return static_cast<bool>(pinned_); }

  /// What the MPI is to be given in place of `given`, the program's argument.
  const void* address_for(const void* given) const { return staged() ? pinned_.data - begin_ : given; }

  /// At each start of the operation: what the program copied to the device before has arrived, also where the buffer is
  /// only filled, so that it does not come later than what is returned. Starts to bring what the MPI reads, or would
  /// leave as it is, to the host. Whether there was anything to bring.
  bool start_refresh();

  /// Starts to copy back what the MPI filled, and no byte of a gap: what lies there may be another operation's, or a
  /// kernel's. `arrived`: how many bytes, where that is the status's to say.
  void start_return(std::size_t arrived);

  /// Of a partitioned message: brings one part to the host, or back, and waits for that. Back: once in each turn of the
  /// operation, whoever asks; the others wait for it.
  /// A part that there is not is for the MPI to complain of.
  void refresh_part(int part);
  void return_part(int part);

 private:
  void find_parts(const buffer& b, bool in_one);
  void start_return_of_parts();

  /// The memory lies in one allocation, or in several.
  void find_pieces(const buffer& b, const span& s, bool in_one);

  char* device_ = nullptr;  ///< the first byte
  MPI_Aint begin_ = 0;      ///< where that is, from the buffer's address
  std::size_t bytes_ = 0;
  std::vector<data_run> pieces_;         ///< the data, from the first byte; none: all bytes
  bool copied_whole_ = true;             ///< to the host, gaps too
  bool copies_are_synchronous_ = true;   ///< copies to it are over when they return: nobody has to wait for them
  bool refreshed_ = false;               ///< its contents are needed on the host
  bool returned_ = false;                ///< the MPI fills it,
  bool by_status_ = false;               ///< but perhaps only its beginning
  std::unique_ptr<buffer_parts> parts_;  ///< of a partitioned message
  pinned_memory pinned_;
};

}  // namespace imbrex::sessions::IX_MPI
