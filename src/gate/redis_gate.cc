#include "gate/redis_gate.h"

#include "base/check.h"
#include "config/limits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::int64_t kLayout = 1;  // Of the keys and their contents; another one is another build.
constexpr std::int64_t kKeys = 7;    // `meta` and those of the epoch.

bool is_place(const GatePlace& place) {
  const std::size_t colon = place.name.find(':');
  return colon != std::string::npos && is_id_text(std::string_view(place.name).substr(0, colon)) &&
         is_id_text(std::string_view(place.name).substr(colon + 1)) && place.epoch >= 1 &&
         place.epoch <= kGateEpochMax && place.sale.value != 0;
}

GateTrouble trouble_in(std::string_view word) {
  for (const GateTrouble one : {GateTrouble::missing, GateTrouble::wrong_epoch, GateTrouble::closed,
                                GateTrouble::already_open, GateTrouble::foreign, GateTrouble::corrupt}) {
    if (word == name(one)) return one;
  }
  return GateTrouble::missing;
}

}  // namespace

RedisGate::RedisGate(RedisGateOptions options, const Clock& clock, std::unique_ptr<Random> random)
    : options_(std::move(options)), random_(std::move(random)), cluster_(options_.servers, clock, *random_) {}

Result<std::unique_ptr<RedisGate>> RedisGate::connect(RedisGateOptions options, const Clock& clock,
                                                      std::unique_ptr<Random> random, Deadline deadline) {
  CHECK(options.buyer_key != nullptr && !options.ledger.empty());
  std::unique_ptr<RedisGate> made(new RedisGate(std::move(options), clock, std::move(random)));
  if (auto started = made->cluster_.start(deadline); !started) return std::unexpected(started.error());
  return made;
}

// Places.

GateAnswer<void> RedisGate::attach(const GatePlace& place) {
  if (!is_place(place)) {
    return std::unexpected(GateError{GateTrouble::unfit, fmt::format("sale {}: {} at epoch {} is no place for a gate",
                                                                     place.sale.value, place.name, place.epoch)});
  }
  Sale& sale = sales_[place.sale];
  const bool is_same = sale.place.name == place.name && sale.place.epoch == place.epoch && sale.place.pin == place.pin;
  if (is_same) return {};
  sale = {};
  sale.place = place;
  sale.prefix = fmt::format("{{{}}}:", place.name);
  sale.slot = redis_slot(sale.prefix);
  sale.keys.add(sale.prefix + "meta");
  add_epoch_keys(sale.keys, sale.prefix, place.epoch);
  return {};
}

void RedisGate::add_epoch_keys(RedisCommand& to, std::string_view prefix, std::int64_t epoch) {
  for (const char* const key : {"shelf", "held", "buyers", "inflight", "ended", "changes"})
    to.add(fmt::format("{}{}:{}", prefix, epoch, key));
}

void RedisGate::detach(SaleNo no) {
  sales_.erase(no);
  std::erase_if(sale_of_item_, [no](const auto& entry) { return entry.second == no; });
}

RedisGate::Sale* RedisGate::find(SaleNo no) {
  const auto found = sales_.find(no);
  return found == sales_.end() ? nullptr : &found->second;
}

GateAnswer<RedisGate::Sale*> RedisGate::attached(SaleNo no) {
  if (Sale* const sale = find(no)) return sale;
  return std::unexpected(GateError{GateTrouble::unattached, fmt::format("sale {} is not attached", no.value)});
}

GateAnswer<RedisGate::Sale*> RedisGate::sale_of(ItemNo item) {
  const auto known = sale_of_item_.find(item);
  if (known != sale_of_item_.end()) return attached(known->second);
  return std::unexpected(GateError{GateTrouble::unattached, fmt::format("item {} was never opened", item.value)});
}

const GatePlace* RedisGate::place(SaleNo no) const {
  const auto found = sales_.find(no);
  return found == sales_.end() ? nullptr : &found->second.place;
}

GateTrouble RedisGate::trouble(SaleNo no) const {
  const auto found = sales_.find(no);
  return found == sales_.end() ? GateTrouble::unattached : found->second.trouble;
}

// Asking.

RedisRequest RedisGate::request(const Sale& sale, const RedisScript& script, const RedisCommand& arguments, Pin pin,
                                const RedisCommand& more_keys) const {
  RedisRequest made;
  made.slot = sale.slot;
  made.wants_pin = pin != Pin::any;
  made.asks_anew = pin == Pin::anew;
  made.pin = sale.place.pin;
  made.script = &script;
  made.writes_before = sale.writes;
  made.command.add(kKeys + static_cast<std::int64_t>(more_keys.words())).add(sale.keys).add(more_keys);
  made.command.add(sale.place.epoch).add(kLayout).add(options_.ledger).add(arguments);
  return made;
}

std::unexpected<GateError> RedisGate::trouble_of(Sale& sale, GateTrouble trouble, std::string_view why) {
  sale.trouble = trouble;
  return std::unexpected(
      GateError{trouble, fmt::format("gate of {} at epoch {}: {}", sale.place.name, sale.place.epoch, why)});
}

GateAnswer<RedisReply> RedisGate::judge(Sale& sale, RedisRequest& answered, Count count) {
  switch (answered.outcome) {
    case RedisOutcome::answered: break;
    case RedisOutcome::wrong_pin: return trouble_of(sale, GateTrouble::wrong_pin, answered.message);
    case RedisOutcome::unavailable: return trouble_of(sale, GateTrouble::unavailable, answered.message);
    case RedisOutcome::timed_out: return trouble_of(sale, GateTrouble::timed_out, answered.message);
    case RedisOutcome::unfit: return trouble_of(sale, GateTrouble::unfit, answered.message);
  }
  const RedisReply& reply = answered.reply;
  if (reply.is_error()) return trouble_of(sale, GateTrouble::missing, reply.text);
  const std::string& word = reply.at(0).text;
  const std::int64_t writes = reply.at(1).number().value_or(0);
  if (word != "ok" && word != name(GateTrouble::corrupt)) {
    const std::string& detail = reply.at(2).text;
    return trouble_of(sale, trouble_in(word), detail.empty() ? word : fmt::format("{} ({})", word, detail));
  }
  if (count == Count::anew) sale.writes = writes;
  if (count == Count::never_back) {
    // Of calls that were sent together a later one may have run first.
    if (writes < answered.writes_before) {
      return trouble_of(sale, GateTrouble::went_back,
                        fmt::format("{} writes were counted and now {}", answered.writes_before, writes));
    }
    sale.writes = std::max(sale.writes, writes);
  }
  if (word != "ok") {
    return trouble_of(sale, GateTrouble::corrupt,
                      fmt::format("hold {}: {}", reply.at(2).number().value_or(0), reply.at(3).text));
  }
  sale.trouble = GateTrouble::none;
  return std::move(answered.reply);
}

GateAnswer<RedisReply> RedisGate::ask(Sale& sale, const RedisScript& script, const RedisCommand& arguments,
                                      Deadline deadline, Pin pin, Count count) {
  RedisRequest asked = request(sale, script, arguments, pin);
  cluster_.run(asked, deadline);
  return judge(sale, asked, count);
}

GateAnswer<void> RedisGate::ask_all(Sale& sale, const RedisScript& script, std::span<const RedisCommand> arguments,
                                    Deadline deadline) {
  for (std::size_t at = 0; at < arguments.size(); at += kRedisPipelineMax) {
    std::vector<RedisRequest> asked;
    for (const RedisCommand& one : arguments.subspan(at, std::min(kRedisPipelineMax, arguments.size() - at)))
      asked.push_back(request(sale, script, one));
    cluster_.run(asked, deadline);
    for (RedisRequest& one : asked) {
      if (auto reply = judge(sale, one); !reply) return std::unexpected(reply.error());
    }
  }
  return {};
}

}  // namespace weir
