#pragma once

#include <string>
#include <vector>

#include "imbrex/checkpoint/byte_sink.h"

namespace imbrex {

/// A rank's part of a checkpoint that stays in memory: what its file would have.
class memory_sink final : public byte_sink {
 public:
  /// Into `to`, which is emptied and outlives this; it has room for `expected` bytes then.
  memory_sink(std::vector<std::byte>& to, std::size_t expected) : to_(to) {
    to_.clear();
    to_.reserve(expected);
  }

  void append(std::span<const std::byte> bytes) override { to_.insert(to_.end(), bytes.begin(), bytes.end()); }
  std::uint64_t size() const override { return to_.size(); }
  std::size_t room() const override { return std::size_t{1} << 20; }
  void finish() override {}
  const std::string& path() const override {
    static const std::string name = "a checkpoint in memory";
    return name;
  }

 private:
  std::vector<std::byte>& to_;
};

}  // namespace imbrex
