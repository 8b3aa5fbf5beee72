#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "imbrex/base/ids.h"
#include "imbrex/object/state/saved_state.h"

namespace imbrex {

struct element_base;

/// As what kind of collection a part is made again, and with what.
struct collection_recipe {
  std::string kind;  ///< of `collection_kind`; empty for singletons, which no PE needs to be told of
  std::vector<std::byte> shape;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & kind & shape;
  }
};

/// What checkpoints want of a PE's part of a collection: its elements as bytes, and back. Indices are bytes, too.
class saved_part {
 public:
  virtual collection_recipe recipe() const = 0;
  virtual std::vector<std::byte> index_bytes(const element_base& e) const = 0;
  /// The state of `e`, which lives here. Throws `usage_error` when its class cannot be serialised.
  virtual saved_state save(element_base& e, device_saver& saver) = 0;

  virtual pe_id home_of(const std::vector<std::byte>& index) const = 0;
  /// What is known of that element; made when nothing was.
  virtual element_base& record_of(const std::vector<std::byte>& index) = 0;
  /// `e` lives here from now on, in this state; false when its constructor or `serialize` threw, which ends the job.
  virtual bool restore(element_base& e, std::span<const std::byte> state) = 0;
  /// Makes section `s` anew, of which this PE is the root.
  virtual void restore_section(section_id s, const std::vector<std::vector<std::byte>>& members) = 0;

 protected:
  ~saved_part() = default;
};

}  // namespace imbrex
