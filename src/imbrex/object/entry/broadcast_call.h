#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "imbrex/base/archive.h"
#include "imbrex/base/ids.h"

namespace imbrex {

class broadcast_call;
class scheduler;
struct element_base;

/// An entry method that is broadcast to. One object for each, registered before main and numbered like the handlers of
/// messages.
struct broadcast_kind {
  broadcast_kind(const char* name, std::shared_ptr<const broadcast_call> (*read_)(input_archive&))
      : type_name(name), read(read_) {
    registry().push_back(this);
  }
  const char* type_name;
  std::shared_ptr<const broadcast_call> (*read)(input_archive&);
  std::uint32_t number = 0;  ///< the same on every rank

  static std::vector<broadcast_kind*>& registry();
  /// Numbers the kinds; returns a digest of their names.
  static std::uint64_t seal();
};

/// What a broadcast says: an entry method and its arguments, shared by the PEs of a process. All else about broadcasts
/// is compiled once for all entry methods (object/broadcast_messages.h).
class broadcast_call {
 public:
  explicit broadcast_call(const broadcast_kind& k) : kind(k) {}
  broadcast_call(const broadcast_call&) = delete;
  broadcast_call& operator=(const broadcast_call&) = delete;
  virtual ~broadcast_call() = default;

  /// Calls the method on an element that is here, with copies of the arguments.
  virtual void invoke(scheduler& pe, element_base& e) const = 0;
  /// An array that the arguments name and that is not complete on this PE yet (collection/chare_pe.h); else one
  /// that does not exist.
  virtual collection_id to_come(scheduler& pe) const = 0;
  /// What traces call the method, of elements called `chare`; null: of which nothing is known here.
  virtual const char* name(const char* chare) const = 0;
  /// \name The arguments for another rank; `kind.read` is the way back
  ///@{
  virtual void size(sizing_archive& ar) const = 0;
  virtual void write(output_archive& ar) const = 0;
  ///@}

  const broadcast_kind& kind;
};

using shared_call = std::shared_ptr<const broadcast_call>;

/// \name A call in a message: the number of its kind and its arguments, of which large arrays may stay out
///@{
void serialize(sizing_archive& ar, const shared_call& call);
void serialize(output_archive& ar, const shared_call& call);
/// Throws `comm_error` for a kind that this program does not have.
void serialize(input_archive& ar, shared_call& call);
///@}

}  // namespace imbrex
