#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "imbrex/base/serialize.h"
#include "imbrex/base/type_digest.h"
#include "imbrex/device/buffer.h"
#include "imbrex/hetero/submission/hetero_grid.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/object/data/object_parcel.h"
#include "imbrex/object/entry/known_slots.h"
#include "imbrex/object/state/member_check.h"
#include "imbrex/object/state/saved_state.h"
#include "imbrex/object/state/state_size.h"
#include "imbrex/pe/scheduler.h"

/// What an element takes along when it moves: besides all that messages carry, its buffers and objects (PREMA's mobile
/// objects). They are no arguments of messages: inside a process these are not written, but handed over as they are.
namespace imbrex::detail {

/// Which buffers are handed over as they are, and not written: to PEs of the same process all, to other processes what
/// is in a device's memory and too large to travel inside a message.
enum class which_buffers { none, large_of_devices, all };

/// Counts about as many bytes as `state_writer` will write.
class state_sizer : public archive_base<state_sizer> {
 public:
  static constexpr bool is_loading = false;
  static constexpr bool moves_state = true;
  static constexpr bool only_counts = true;
  void bytes(const void*, std::size_t n) { size_ += n; }
  /// Of a device.
  void bytes_on_device(std::size_t n) { on_device_ += n; }
  /// As a writer that hands them over, which counts none of their bytes.
  void hand_over(which_buffers which) { handed_over_ = which; }
  which_buffers handed_over() const { return handed_over_; }
  std::size_t size() const { return size_ + on_device_; }
  std::size_t num_on_host() const { return size_; }

 private:
  std::size_t size_ = 0;
  std::size_t on_device_ = 0;
  which_buffers handed_over_ = which_buffers::none;
};

class state_writer : public archive_base<state_writer> {
 public:
  static constexpr bool is_loading = false;
  static constexpr bool moves_state = true;
  static constexpr bool only_counts = false;
  /// `saver`: copies what is on devices, to be read later; null: it is read at once.
  explicit state_writer(std::size_t about, device_saver* saver = nullptr) : saver_(saver) { all_.bytes.reserve(about); }
  void bytes(const void* from, std::size_t n) {
    const auto* const at = static_cast<const std::byte*>(from);
    all_.bytes.insert(all_.bytes.end(), at, at + n);
  }
  bool save_later(device& on, const void* from, std::size_t n) {
    return saver_ != nullptr && saver_->save_later(all_, on, from, n);
  }
  saved_state take() { return std::move(all_); }
  /// Whether the element stays, and the state may be read by another job.
  bool is_of_checkpoint() const { return saver_ != nullptr; }
  type_digest& types() { return types_; }
  /// Its bytes stand here.
  void comes_later(std::shared_ptr<object_reading> r) {
    all_.later.push_back({.at = all_.bytes.size(), .reading = std::move(r)});
  }

  /// The messages of an entry slot are in it.
  void has_written(const slot_queue& q) {
    if (q.num_queued() > 0) slots_.push_back(&q);
  }
  /// Calls `left_out` with the name of an entry slot of `element` that has messages and was not written, and how many.
  template <class C, class F>
  void check_slots(C& element, F left_out) const {
    for (const known_slot<C>* s = known_slot<C>::first; s != nullptr; s = s->following) {
      const slot_queue& q = s->queue(element);
      if (q.num_queued() > 0 && std::ranges::find(slots_, &q) == slots_.end()) left_out(s->name, q.num_queued());
    }
  }

  /// These buffers go to `to`, in their order.
  void hand_over(which_buffers which, std::vector<buffer<std::byte>>& to) {
    which_ = which;
    handed_over_ = &to;
  }
  which_buffers handed_over() const { return which_; }
  void hand_over(buffer<std::byte>&& b) { handed_over_->push_back(std::move(b)); }

 private:
  device_saver* saver_;
  which_buffers which_ = which_buffers::none;
  std::vector<buffer<std::byte>>* handed_over_ = nullptr;
  std::vector<const slot_queue*> slots_;
  type_digest types_;
  saved_state all_;
};

class state_reader : public archive_base<state_reader> {
 public:
  static constexpr bool is_loading = true;
  static constexpr bool moves_state = true;
  explicit state_reader(std::span<const std::byte> from) : in_(from.data(), from.size()) {}
  /// `handed_over`: buffers of the writer, in their order. `check`: is told of what is read; null: nobody is.
  state_reader(std::span<const std::byte> from, std::vector<buffer<std::byte>>& handed_over, member_check* check)
      : in_(from.data(), from.size()), check_(check), handed_over_(&handed_over) {}
  /// This, a member perhaps, is read.
  void sees(const void* at, std::size_t n) {
    if (check_ != nullptr) [[unlikely]]
      check_->sees(at, n);
  }
  buffer<std::byte> take_over() {
    if (handed_over_ == nullptr || num_taken_over_ == handed_over_->size())
      throw comm_error("an element's state has fewer buffers than it says");
    return std::move((*handed_over_)[num_taken_over_++]);
  }
  /// A buffer that the element's constructor made, in whose place one of the state comes.
  template <class T>
  void replace(buffer<T>& b) {
    if (b.size() > 0) replaced_.push_back(buffer<T>::into_bytes(std::move(b)));
    b = {};
  }
  std::vector<buffer<std::byte>> take_replaced() { return std::move(replaced_); }
  void bytes(void* to, std::size_t n) {
    sees(to, n);  // by members' own serialize, too
    in_.bytes(to, n);
  }
  /// The next `n` bytes, of as many as are left, where they are.
  const std::byte* skip(std::size_t n) { return in_.skip(n); }
  std::size_t bytes_left() const { return in_.bytes_left(); }
  void check_count(std::uint64_t n, std::uint64_t least_bytes) const { in_.check_count(n, least_bytes); }
  type_digest& types() { return types_; }

 private:
  input_archive in_;
  type_digest types_;
  member_check* check_ = nullptr;
  std::vector<buffer<std::byte>>* handed_over_ = nullptr;
  std::size_t num_taken_over_ = 0;
  std::vector<buffer<std::byte>> replaced_;
};

/// About how much `element`, on its PE, would take along.
template <class C>
state_size size_of_state(C& element) {
  state_sizer size;
  size & element;
  return {size.num_on_host(), size.size() - size.num_on_host()};
}

/// The state of an element, on its PE, with all that must not go on there; and back, on its new one. Buffers go to
/// `handed_over`, and the element does not have them any more. `left_out` is told of messages that would be lost
/// (`state_writer::check_slots`).
template <class C, class F>
std::vector<std::byte> state_to_bytes(C& element, which_buffers which, std::vector<buffer<std::byte>>& handed_over,
                                      F left_out) {
  state_sizer size;
  size.hand_over(which);
  size & element;
  state_writer out(size.size());
  out.hand_over(which, handed_over);
  out & element;
  out.check_slots(element, left_out);
  return out.take().bytes;
}
/// The same for a checkpoint, and behind it of which types it was written.
template <class C, class F>
saved_state save_state(C& element, device_saver& saver, F left_out) {
  state_sizer size;
  size & element;
  state_writer out(size.num_on_host() + sizeof(std::uint32_t), &saver);
  out & element;
  out.check_slots(element, left_out);
  const std::uint32_t types = out.types().value();
  out.bytes(&types, sizeof types);
  return out.take();
}
/// Gives the buffers that the element's constructor had made and those of the state have replaced: what the constructor
/// has enqueued may still write there.
template <class C>
[[nodiscard]] std::vector<buffer<std::byte>> read_state(state_reader& in, C& element) {
  in & element;
  if (in.bytes_left() != 0) throw_left_over(type_name<C>(), in.bytes_left());
  return in.take_replaced();
}
template <class C>
[[nodiscard]] std::vector<buffer<std::byte>> state_from_bytes(std::span<const std::byte> state, C& element,
                                                              std::vector<buffer<std::byte>>& handed_over,
                                                              member_check* check = nullptr) {
  state_reader in(state, handed_over, check);
  return read_state(in, element);
}
/// What `save_state` gave, in one piece. `of_same_types`: whether it was written of the types that it is read as.
template <class C>
[[nodiscard]] std::vector<buffer<std::byte>> state_from_checkpoint(std::span<const std::byte> state, C& element,
                                                                   bool& of_same_types) {
  const auto [bytes, types] = split_typed(state);
  state_reader in(bytes);
  auto replaced = read_state(in, element);
  of_same_types = types == in.types().value();
  return replaced;
}

/// \name Without the type of the elements
///@{
/// The data of an object as a message would carry them, after all tasks submitted by now.
std::vector<std::byte> pack_object(hetero_data& d);
/// The same for a checkpoint, which has the bytes themselves.
void save_object(state_writer& to, hetero_data& d);
void unpack_object(hetero_data& d, const std::vector<std::byte>& packed);
/// About as many bytes as `pack_object` gives.
std::size_t packed_size(hetero_data& d);
/// Copies bytes of a buffer of `kind` on `on` to the host's memory, or from there, blocking. Nothing is under way on
/// them.
void copy_now(void* to, const void* from, std::size_t bytes, device& on, memory_kind kind);
/// What a buffer that comes here is made of: the chares' device of this PE, and there its own memory, or memory of the
/// host if the buffer was not in its device's own.
device& device_here();
/// This PE's handle of a device that another PE of the process may have a handle of: buffers that were handed over name
/// that of the PE that made them. Streams are made by one's own.
device& handle_here(device& d);
/// Whether a buffer is one of these.
bool is_handed_over(which_buffers which, memory_kind kind, std::uint64_t bytes);
memory_kind kind_here(const device& d, bool own);
/// A buffer of another PE of this process for the chares' device of this one: as it is where that is the same device,
/// else a copy, from GPU to GPU where both are. Blocking; nothing is under way on it. `own` as in `kind_here`.
buffer<std::byte> bring_here(buffer<std::byte>&& b, bool own);
///@}

}  // namespace imbrex::detail

namespace imbrex {

/// A buffer in the state of an element that moves: lies in the memory of the device that the element has at its new PE.
/// Inside a process the buffer itself goes, and is copied only if the new PE drives another GPU, from one to the other;
/// between processes the bytes of large ones in a device's memory go as those of GPU messages do (`buffer_transit`).
/// The element that leaves has such a buffer no more once it has been written.
template <class Archive, class T>
  requires(Archive::moves_state)
void serialize(Archive& ar, buffer<T>& b) {
  detail::note_type<T>(ar);
  std::uint64_t size = b.size();
  const bool is_own = b.on() == nullptr || b.kind() == b.on()->allocates();
  bool goes_beside = false;
  if constexpr (!Archive::is_loading)
    goes_beside = size > 0 && detail::is_handed_over(ar.handed_over(), b.kind(), size * sizeof(T));
  std::uint8_t how = (is_own ? 1 : 0) | (goes_beside ? 2 : 0);
  ar & size & how;
  [[maybe_unused]] const bool own = (how & 1) != 0;
  if ((how & 2) != 0) {
    if constexpr (Archive::is_loading) {
      ar.replace(b);
      b = buffer<T>::from_bytes(detail::bring_here(ar.take_over(), own));
    } else if constexpr (!Archive::only_counts) {
      ar.hand_over(buffer<T>::into_bytes(std::move(b)));
    }
    return;
  }
  if constexpr (Archive::is_loading) {
    if (size > ar.bytes_left() / sizeof(T)) throw comm_error("an element's state ended in the middle of a buffer");
    ar.replace(b);
    if (size == 0) return;
    device& here = detail::device_here();
    b = buffer<T>(here, size, detail::kind_here(here, own));
    detail::copy_now(b.data(), ar.skip(size * sizeof(T)), size * sizeof(T), here, b.kind());
  } else if constexpr (Archive::only_counts) {
    b.kind() == memory_kind::device ? ar.bytes_on_device(size * sizeof(T)) : ar.bytes(nullptr, size * sizeof(T));
  } else if (size > 0) {
    if (b.kind() == memory_kind::device && ar.save_later(*b.on(), b.data(), size * sizeof(T))) return;
    if (b.kind() != memory_kind::device) return ar.bytes(b.data(), size * sizeof(T));
    std::vector<std::byte> bytes(size * sizeof(T));
    detail::copy_now(bytes.data(), b.data(), bytes.size(), *b.on(), b.kind());
    ar.bytes(bytes.data(), bytes.size());
  }
}

/// An object in the state of an element that moves: at its new PE it is one of its own with the elements as they are
/// after all tasks submitted before, as in a message; those that read it there wait. Each handle becomes an object of
/// its own, a slice, too.
template <class Archive, class T>
  requires(Archive::moves_state)
void serialize(Archive& ar, hetero_object<T>& o) {
  detail::note_type<T>(ar);
  std::uint64_t size = o.size();
  bool exists = o.exists();
  ar & size & exists;
  if (!exists && !Archive::is_loading) return;
  if constexpr (Archive::is_loading) {
    o = exists ? hetero_object<T>(size) : hetero_object<T>();
    if (!exists) return;
    std::vector<std::byte> packed;
    ar & packed;
    detail::unpack_object(*o.data(), packed);
  } else if constexpr (Archive::only_counts) {
    ar.bytes(nullptr, detail::packed_size(*o.data()));
  } else if (ar.is_of_checkpoint()) {
    detail::save_object(ar, *o.data());
  } else {
    std::vector<std::byte> packed = detail::pack_object(*o.data());
    ar & packed;
  }
}

/// A grid is one of its own there, and so is a tile, with its rows one behind the other.
template <class Archive, class T>
  requires(Archive::moves_state)
void serialize(Archive& ar, hetero_grid<T>& g) {
  grid_extent n = g.extent();
  ar & n.x & n.y & n.z;
  if constexpr (Archive::is_loading) {
    hetero_object<T> o;
    ar & o;
    g = o.exists() ? hetero_grid<T>::of(o, n) : hetero_grid<T>();
  } else {
    const bool is_in_rows = Archive::only_counts || !g.exists() || g.is_dense();
    hetero_object<T> o = is_in_rows ? g.handle() : g.copy().handle();
    ar & o;
  }
}

}  // namespace imbrex
