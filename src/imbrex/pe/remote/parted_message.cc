#include "imbrex/pe/remote/parted_message.h"

#include "imbrex/base/error.h"

namespace imbrex::detail {

void array_transfers::begin(executor& pe, std::int8_t level, const std::vector<large_block>& blocks,
                            const std::function<void(const large_block&, transfer*)>& start) {
  each_ = std::make_unique<one[]>(blocks.size());
  num_left_ = blocks.size();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    one& t = each_[i];
    t.of = this;
    t.pe = &pe;
    t.act = &array_transfers::end;
    t.level = level;
    try {
      start(blocks[i], &t);
    } catch (...) {
      is_given_up_ = true;
      num_left_ -= blocks.size() - i;
      if (num_left_ == 0) over(true);
      throw;
    }
  }
}

void array_transfers::end(work* w, work_action action) {
  auto* const self = static_cast<one*>(w)->of;
  self->is_given_up_ = self->is_given_up_ || action == work_action::discard;
  if (--self->num_left_ == 0) self->over(self->is_given_up_);
}

arriving_body::arriving_body(arrival_order& order, const wire_header& h) : order_(order), flow_(h.flow) {
  from = h.from;
  level = h.level;
  act = &arriving_body::perform;
}

void arriving_body::start(executor& pe, transport& network, rank_id source, wire_message* m,
                          std::unique_ptr<arriving_body> self) {
  const std::unique_ptr<wire_message, void (*)(wire_message*)> owned(m, &wire_message::destroy);
  std::vector<large_block> blocks;
  input_archive in(m->payload(), m->header.size, &blocks);
  self->read(in);
  if (in.bytes_left() != 0) throw_left_over(self->body_type(), in.bytes_left());
  if (blocks.empty()) throw comm_error("a message lacks its large arguments: do all ranks run the same program?");
  self->order_.expect(self.get());
  self.release()->begin(pe, m->header.level, blocks, [&](const large_block& b, transfer* done) {
    network.recv_data(source, b.id, {b.data, b.bytes, memory_kind::host, -1}, done);
  });
}

void arriving_body::perform(work* w, work_action action) {
  const std::unique_ptr<arriving_body> self(static_cast<arriving_body*>(static_cast<arrival*>(w)));
  if (action == work_action::run) self->run(self->flow_);
}

}  // namespace imbrex::detail
