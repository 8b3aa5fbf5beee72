#pragma once

#include <imbrex/device/device.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// Where small values come from and go to as they do at a device's: out of one function and straight into another. A
/// value leaves its register with other bits above its own, as compilers may leave them; what takes one compares all
/// that its compiler may rely on.
class checked_values {
 public:
  /// \name A value, in a register whose upper bits are not its own
  ///@{
  virtual bool yes() const;
  virtual std::uint8_t byte() const;
  virtual std::int8_t negative_byte() const;
  virtual std::uint16_t half_word() const;
  ///@}
  /// \name Whether that value arrived
  ///@{
  virtual bool is_yes(bool v) const;
  virtual bool is_byte(std::uint8_t v) const;
  virtual bool is_negative_byte(std::int8_t v) const;
  virtual bool is_half_word(std::uint16_t v) const;
  ///@}
  virtual ~checked_values() = default;

 private:
  std::uint64_t word_ = 0xabcdef0123456701;
  unsigned shift_ = 0;
};

/// A device that plays a GPU in ordinary memory: it does at once what is enqueued, and keeps a list of what was asked
/// of it wrongly: memory of a kind that it has not, or freed as another kind than it was allocated as.
class checked_device final : public imbrex::device {
 public:
  checked_device() = default;

  const std::vector<std::string>& complaints() const { return complaints_; }
  /// Allocations that have not been freed.
  std::size_t num_allocated() const { return own_.size() + pinned_.size(); }
  /// Streams that were made so urgent.
  int num_streams(imbrex::stream_priority p) const;

  imbrex::device_kind kind() const override;
  int number() const override { return 0; }
  std::string name() const override { return "a device that checks its arguments"; }
  imbrex::memory_info memory() const override { return {1 << 30, 1 << 30}; }
  imbrex::memory_kind allocates() const override;
  void* allocate(std::size_t bytes, imbrex::memory_kind kind) override;
  using device::allocate;
  void free(void* memory, std::size_t bytes, imbrex::memory_kind kind) noexcept override;
  imbrex::memory_usage used(imbrex::memory_kind kind) const override;
  void read_now(void* to, const void* from, std::size_t bytes, const imbrex::event& e) override;
  std::unique_ptr<imbrex::stream> make_stream(imbrex::stream_priority p, std::string label) override;

 private:
  using pool = std::map<void*, std::size_t>;  // bytes
  pool& pool_of(imbrex::memory_kind kind);

  std::uint64_t own_kind_ = 0xabcdef00 | static_cast<unsigned>(imbrex::memory_kind::device);
  std::uint64_t device_kind_ = 0xabcdef00 | static_cast<unsigned>(imbrex::device_kind::cuda);
  unsigned shift_ = 0;
  pool own_;
  pool pinned_;
  std::vector<std::string> complaints_;
  int num_high_ = 0;
  int num_low_ = 0;
};
