#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "channel_state.h"
#include "tasks/objects.h"

namespace imbrex_python {

/// What the state of a chare that moves or goes into a checkpoint has beside what is pickled: its Objects and channels,
/// which the pickled part names by their numbers.
class chare_parts {
 public:
  chare_parts() = default;
  /// For a chare whose object is to be pickled. `of_checkpoint`: it stays, too, and may be read by another job.
  explicit chare_parts(bool of_checkpoint) : is_of_checkpoint_(of_checkpoint) {}

  /// While one lives, what is pickled or made from it on this thread belongs to a chare with these parts.
  class in_use {
   public:
    explicit in_use(chare_parts& p);
    ~in_use();
    in_use(const in_use&) = delete;

   private:
    chare_parts* before_;
  };
  /// Those of the chare that is pickled, or read, on this thread; null: none is.
  static chare_parts* current();

  bool is_of_checkpoint() const { return is_of_checkpoint_; }
  /// Its number.
  std::size_t keep(const bytes_object& o);
  std::size_t keep(const std::shared_ptr<channel_state>& c);
  /// What has been kept or read; throws `usage_error` for a number that there is not.
  bytes_object object(std::size_t i) const;
  std::shared_ptr<channel_state> channel(std::size_t i) const;
  const std::vector<std::shared_ptr<channel_state>>& channels() const { return channels_; }
  /// Of the objects.
  std::size_t num_bytes() const;

  /// Archives of states of chares. `stream_of_channels`: gives that in whose order those which are read are used.
  template <class Archive, class F>
  void serialize(Archive& ar, F stream_of_channels) {
    std::uint64_t num_objects = objects_.size(), num_channels = channels_.size();
    ar & num_objects & num_channels;
    if constexpr (Archive::is_loading) {
      ar.check_count(num_objects, 1);
      ar.check_count(num_channels, 1);
      objects_.resize(num_objects);
    }
    for (bytes_object& o : objects_) ar & o;
    for (std::uint64_t i = 0; i < num_channels; ++i) {
      ix::channel<std::byte> opened;
      bool of_device = false;
      if constexpr (!Archive::is_loading) of_device = channels_[i]->is_of_device();
      ar & of_device;
      if constexpr (Archive::is_loading) {
        ar & opened;
        channels_.push_back(std::make_shared<channel_state>(std::move(opened), stream_of_channels(), of_device));
      } else {
        ar& channels_[i]->channel;
      }
    }
  }

 private:
  bool is_of_checkpoint_ = false;
  std::vector<bytes_object> objects_;
  std::vector<std::shared_ptr<channel_state>> channels_;
};

}  // namespace imbrex_python
