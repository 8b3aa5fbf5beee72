#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// What tasks took, by name, size and place: a running mean. The size is the power of two of all their objects' bytes.
class cost_model {
 public:
  struct key {
    std::string name;
    int size = 0;
    std::string place;
    auto operator<=>(const key&) const = default;
  };
  struct mean {
    double nanoseconds = 0;
    std::uint64_t samples = 0;
  };
  static key key_of(const task_node& t, const place& p);
  static int size_of(const task_node& t);

  void learn(const key& k, double nanoseconds);
  /// Null: nothing is known. It stays where it is, and changes with what is learnt.
  const mean* find(const key& k) const;
  /// Nanoseconds: what is known, or what the times of other sizes at the place suggest: a power of the size that fits
  /// two or more of them best, in proportion to one. Negative: such tasks have never run there.
  double estimate(const key& k) const;
  const std::map<key, mean>& all() const { return known_; }
  /// What others have learnt, from the same beginning as this one: the mean of both, by their samples.
  void add(const key& k, const mean& m);

  /// A line for each: samples, nanoseconds, size, place and name, between tabs.
  std::string text() const;
  /// Adds what `text` gave. Throws `config_error` naming `from` and the line that is none.
  void add_text(std::istream& in, const std::string& from);

  /// The text in a file. A file that is not there is an empty one. Throws `config_error` for a folder, a file that
  /// cannot be read, and a line that is none.
  void read(const std::string& file);
  /// Replaces the file as a whole. Throws `config_error` when it cannot be written.
  void write(const std::string& file) const;

 private:
  std::map<key, mean> known_;
};

}  // namespace imbrex
