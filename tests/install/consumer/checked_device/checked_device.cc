#include "checked_device.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

class checked_stream final : public imbrex::stream {
 public:
  checked_stream(checked_device& d, imbrex::stream_priority p, std::string label)
      : stream(std::move(label)), device_(d), priority_(0xabcdef00 | static_cast<unsigned>(p)) {}

  imbrex::device& on() const override { return device_; }
  imbrex::stream_priority urgency() const override {
    return static_cast<imbrex::stream_priority>(static_cast<std::uint8_t>(priority_ >> shift_));
  }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memmove(to, from, bytes); }
  void fill(void* to, unsigned char value, std::size_t bytes) override { std::memset(to, value, bytes); }
  imbrex::event record() override { return imbrex::event(); }
  void wait(const imbrex::event&) override {}
  bool idle() const override { return true; }
  void arrive(imbrex::device& here) override { static_cast<void>(here); }

 private:
  void enqueue(imbrex::stream_operation* op) override { op->act(op, imbrex::work_action::run); }

  checked_device& device_;
  std::uint64_t priority_;
  unsigned shift_ = 0;
};

}  // namespace

// Shifted by an amount that the compiler does not know, so that the whole word comes into the register.
bool checked_values::yes() const { return static_cast<bool>(static_cast<std::uint8_t>(word_ >> shift_) & 1U); }
std::uint8_t checked_values::byte() const { return static_cast<std::uint8_t>(word_ >> (shift_ + 8)); }
std::int8_t checked_values::negative_byte() const { return static_cast<std::int8_t>(word_ >> (shift_ + 48)); }
std::uint16_t checked_values::half_word() const { return static_cast<std::uint16_t>(word_ >> (shift_ + 16)); }

bool checked_values::is_yes(bool v) const { return static_cast<int>(v) == 1; }
bool checked_values::is_byte(std::uint8_t v) const { return static_cast<int>(v) == 0x67; }
bool checked_values::is_negative_byte(std::int8_t v) const { return static_cast<int>(v) == 0xcd - 0x100; }
bool checked_values::is_half_word(std::uint16_t v) const { return static_cast<int>(v) == 0x2345; }

int checked_device::num_streams(imbrex::stream_priority p) const {
  return p == imbrex::stream_priority::high ? num_high_ : num_low_;
}

imbrex::device_kind checked_device::kind() const {
  return static_cast<imbrex::device_kind>(static_cast<std::uint8_t>(device_kind_ >> shift_));
}

imbrex::memory_kind checked_device::allocates() const {
  return static_cast<imbrex::memory_kind>(static_cast<std::uint8_t>(own_kind_ >> shift_));
}

// One comparison, as of the pools of a GPU: of as many bits as the compiler believes to be the value's.
checked_device::pool& checked_device::pool_of(imbrex::memory_kind kind) {
  return kind == imbrex::memory_kind::device ? own_ : pinned_;
}

void* checked_device::allocate(std::size_t bytes, imbrex::memory_kind kind) {
  void* const memory = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
  pool_of(kind)[memory] = bytes;
  return memory;
}

void checked_device::free(void* memory, std::size_t bytes, imbrex::memory_kind kind) noexcept {
  pool& from = pool_of(kind);
  const auto at = from.find(memory);
  if (at == from.end() || at->second != bytes) {
    complaints_.push_back("memory of kind " + std::to_string(static_cast<int>(kind)) +
                          " was freed in a pool without it");
    return;
  }
  from.erase(at);
  std::free(memory);
}

imbrex::memory_usage checked_device::used(imbrex::memory_kind kind) const {
  imbrex::memory_usage all;
  for (const auto& [memory, bytes] : kind == imbrex::memory_kind::device ? own_ : pinned_) all.in_use += bytes;
  return all;
}

void checked_device::read_now(void* to, const void* from, std::size_t bytes, const imbrex::event&) {
  std::memcpy(to, from, bytes);
}

std::unique_ptr<imbrex::stream> checked_device::make_stream(imbrex::stream_priority p, std::string label) {
  if (p == imbrex::stream_priority::high) {
    ++num_high_;
  } else if (p == imbrex::stream_priority::low) {
    ++num_low_;
  } else {
    complaints_.push_back("a stream was asked for that is neither urgent nor not: " +
                          std::to_string(static_cast<unsigned>(p)));
  }
  return std::make_unique<checked_stream>(*this, p, std::move(label));
}
