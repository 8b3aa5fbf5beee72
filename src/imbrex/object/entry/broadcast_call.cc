#include "imbrex/object/entry/broadcast_call.h"

#include "imbrex/pe/registered_types.h"

namespace imbrex {

std::vector<broadcast_kind*>& broadcast_kind::registry() {
  static std::vector<broadcast_kind*> all;
  return all;
}

std::uint64_t broadcast_kind::seal() { return detail::number_by_name(registry()); }

void serialize(sizing_archive& ar, const shared_call& call) {
  ar.bytes(&call->kind.number, sizeof call->kind.number);
  call->size(ar);
}

void serialize(output_archive& ar, const shared_call& call) {
  ar.bytes(&call->kind.number, sizeof call->kind.number);
  call->write(ar);
}

void serialize(input_archive& ar, shared_call& call) {
  std::uint32_t number = 0;
  ar.bytes(&number, sizeof number);
  const auto& kinds = broadcast_kind::registry();
  if (number >= kinds.size()) detail::throw_wrong_value("the kind of broadcast", number, kinds.size());
  call = kinds[number]->read(ar);
}

}  // namespace imbrex
