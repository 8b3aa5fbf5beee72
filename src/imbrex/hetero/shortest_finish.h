#pragma once

#include <map>
#include <string>
#include <utility>

#include "imbrex/hetero/placement.h"
#include "imbrex/hetero/ready_list.h"

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

  void learn(const key& k, double nanoseconds);
  /// Null: nothing is known.
  const mean* find(const key& k) const;

  /// A text file with a line for each: samples, nanoseconds, size, place and name, between tabs. A file that cannot be
  /// read is none.
  void read(const std::string& file);
  /// Replaces the file as a whole. Throws `config_error` when it cannot be written.
  void write(const std::string& file) const;

 private:
  std::map<key, mean> known_;
};

/// Each task goes where it is expected to be over first: after what the place has to do, the time to bring what is
/// missing, and what such tasks took there. What has never run at a place is tried there.
class shortest_finish final : public placement_policy {
 public:
  explicit shortest_finish(std::string file = {});
  ~shortest_finish() override;
  void push(task_node& t) override { ready_.push(t); }
  choice pop(const placement_view& view) override;
  bool learns() const override { return true; }
  void finished(const task_node& t, std::int64_t nanoseconds) override;
  cost_model& costs() { return costs_; }

 private:
  double expected(const placement_view& view, const task_node& t, const place& p) const;

  const std::string file_;
  ready_list ready_;
  cost_model costs_;
  std::map<const place*, double> backlog_ns_;  // of tasks that were given out and have not finished
  std::map<const task_node*, double> expected_ns_;
};

}  // namespace imbrex
