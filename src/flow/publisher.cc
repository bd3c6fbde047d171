#include "flow/publisher.h"

#include "base/log.h"

#include <algorithm>

namespace weir {

void Publisher::hand_over(OrderId order) {
  own_.push_back({.order = order, .fate = Fate::handed_over, .recording = {}, .status = {}, .pay_by = {}});
}

void Publisher::append(std::span<const Claim> claims) {
  messages_.clear();
  const auto catalog = catalog_.get();
  for (const Claim& claim : claims) {
    const GatePlace* const place = gate_.place(claim.sale);
    const auto state = lease_.open_at(claim.sale, clock_.ticks());
    if (place == nullptr || !state || state->epoch != place->epoch) {
      ++counts_.lease_lost;
      hand_over(claim.order);
      continue;
    }
    auto message = message_of(claim, place->epoch, clock_.now(), *catalog);
    if (!message) {
      log::error("claim_without_names", {{"order", claim.order.text()}});
      hand_over(claim.order);
      continue;
    }
    messages_.push_back(*std::move(message));
  }
  counts_.published += messages_.size();
  log_.append(messages_);
}

std::size_t Publisher::outcomes(std::span<Outcome> out) {
  std::size_t count = 0;
  for (; count < out.size() && !own_.empty(); ++count) {
    out[count] = own_.front();
    own_.pop_front();
  }
  const std::size_t heard = log_.outcomes(out.subspan(count));
  for (Outcome& outcome : out.subspan(count, heard)) {
    switch (outcome.fate) {
      case Fate::durable: ++counts_.durable; break;
      case Fate::not_persisted: ++counts_.not_persisted; break;
      case Fate::unknown:
      case Fate::decided:
      case Fate::handed_over: ++counts_.unknown; break;
    }
    if (outcome.fate != Fate::durable) outcome.fate = Fate::handed_over;
  }
  return count + heard;
}

}  // namespace weir
