#include "imbrex/object/seeds/home_news.h"

#include "imbrex/object/collection/location.h"

namespace imbrex {

namespace {

/// At the home of singletons that others have made, or that have ended elsewhere.
struct news_message {
  pe_id from = no_pe;
  collection_id array;
  std::vector<home_news::piece> all;

  void operator()(scheduler& pe) {
    array_part<no_index>& part = *find_part<no_index>(pe, array);
    for (const home_news::piece& p : all) {
      element<no_index>* const e = part.find(p.index);
      if (e == nullptr) continue;  // it has ended: the network may put news in another order
      if (p.epoch == home_news::has_ended) {
        part.release_held(*e);
        part.forget(*e);
      } else {
        location_update<no_index>{array, p.index, from, p.epoch, false}(pe);
      }
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & from & array & all;
  }
};

}  // namespace

home_news::home_news(chare_pe& pe) : pe_(pe) {
  turn_.of = this;
  turn_.set_priority(priorities::normal);
  turn_.act = [](work* w, work_action action) {
    auto* const t = static_cast<turn*>(w);
    t->is_queued = false;
    if (action == work_action::run) t->of->have_turn();
  };
}

void home_news::queue_turn() {
  turn_.is_queued = true;
  pe_.post_here(&turn_);
}

// More may come from what is ready; if nothing is, this is all there is to run, and the rounds are over at once.
void home_news::have_turn() {
  if (all_.empty()) return;
  if (++turn_.rounds < most_rounds) return queue_turn();
  tell();
}

void home_news::tell() {
  turn_.rounds = 0;
  if (all_.empty()) return;
  news_message m{pe_.id(), array_, std::move(all_)};
  all_ = {};
  pe_.send(home_, std::move(m), priorities::communication);
}

}  // namespace imbrex
