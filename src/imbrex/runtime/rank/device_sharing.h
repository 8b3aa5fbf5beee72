#pragma once

#include <string>
#include <vector>

namespace imbrex::detail {

/// The machine that a rank runs on, and which of its devices it uses, by names that are the same in all processes.
struct devices_in_use {
  std::string machine;
  std::vector<std::string> devices;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & machine & devices;
  }
};

/// How many ranks use a device that rank `mine` uses, this one counted: those that share its memory.
int num_ranks_sharing(const std::vector<devices_in_use>& of_ranks, std::size_t mine);

/// A name of this machine that no other has, though hosts may have equal names.
std::string name_of_this_machine();

}  // namespace imbrex::detail
