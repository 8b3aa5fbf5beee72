#include "imbrex/object/state/element_state.h"

#include <algorithm>
#include <utility>

#include "imbrex/comm/data/data_mover.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/tasks/open_task.h"
#include "imbrex/object/data/hetero_argument.h"
#include "imbrex/object/data/object_desk.h"
#include "imbrex/object/state/object_reading.h"

namespace imbrex::detail {

// What nobody has written yet is packed as no bytes.
std::vector<std::byte> pack_object(hetero_data& d) {
  if (!is_defined(d)) return {};
  return to_bytes(object_parcel::of(d));
}

void save_object(state_writer& to, hetero_data& d) {
  const bool exists = is_defined(d);
  const char is_packed = 1;
  const std::uint64_t bytes = d.bytes;
  const std::uint64_t all = exists ? sizeof is_packed + sizeof bytes + bytes : 0;
  note_type<std::byte>(to);  // of what is read: bytes, and in them what a parcel has
  to.bytes(&all, sizeof all);
  if (!exists) return;
  to.bytes(&is_packed, sizeof is_packed);
  to.bytes(&bytes, sizeof bytes);
  if (bytes == 0) return;
  if (&d.domain->pe() == &scheduler::current() && is_ready_on_host(d)) {
    to.bytes(d.at(0).memory, bytes);
  } else {
    to.comes_later(object_reading::begin(d));
  }
}

void unpack_object(hetero_data& d, const std::vector<std::byte>& packed) {
  if (packed.empty()) return;
  object_parcel p;
  from_bytes(packed, p);
  write_parcel(d, std::move(p));
}

std::size_t packed_size(hetero_data& d) {
  constexpr std::size_t around = 64;
  return is_ready_on_host(d) ? d.bytes + around : around;
}

void copy_now(void* to, const void* from, std::size_t bytes, device& on, memory_kind kind) {
  if (kind != memory_kind::device) {
    std::memcpy(to, from, bytes);
  } else {
    on.read_now(to, from, bytes, event());
  }
}

bool is_handed_over(which_buffers which, memory_kind kind, std::uint64_t bytes) {
  switch (which) {
    case which_buffers::none: return false;
    case which_buffers::all: return true;
    case which_buffers::large_of_devices: break;
  }
  return kind == memory_kind::device && !scheduler::current().mover->travels_packed(kind, bytes);
}

device& handle_here(device& d) {
  const scheduler& pe = scheduler::current();
  const auto is_same = [&](const device* other) { return other->kind() == d.kind() && other->number() == d.number(); };
  if (is_same(pe.default_device)) return *pe.default_device;
  const auto mine = std::ranges::find_if(pe.gpus, is_same);
  return mine != pe.gpus.end() ? **mine : d;
}

device& device_here() { return *scheduler::current().default_device; }

memory_kind kind_here(const device& d, bool own) { return own ? d.allocates() : memory_kind::pinned; }

buffer<std::byte> bring_here(buffer<std::byte>&& b, bool own) {
  device& here = device_here();
  const memory_kind kind = kind_here(here, own);
  const device& there = *b.on();
  const bool is_same_device = there.kind() == here.kind() && there.number() == here.number();
  if (is_same_device && b.kind() == kind) return std::move(b);
  buffer<std::byte> copy(here, b.size(), kind);
  if (there.kind() == here.kind() && here.kind() == device_kind::cuda && b.kind() == kind) {
    copy_now(copy.data(), b.data(), b.size(), here, kind);
  } else {
    std::vector<std::byte> bytes(b.size());
    copy_now(bytes.data(), b.data(), b.size(), *b.on(), b.kind());
    copy_now(copy.data(), bytes.data(), bytes.size(), here, kind);
  }
  return copy;
}

}  // namespace imbrex::detail
