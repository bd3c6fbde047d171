#include "auditor/lawful_history.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace weir::auditor {
namespace {

struct Order {
  Event claim;
  Status status = Status::pending;
};

/// One question with the instant at which it takes effect; `is_lost`: it never arrives.
struct Step {
  std::int64_t at_us = 0;
  std::uint64_t turn = 0;  // Makes equal instants an order of their own.
  Event event;
  bool is_lost = false;
  bool is_expiry = false;
};
struct IsLater {
  bool operator()(const Step& a, const Step& b) const {
    return a.at_us != b.at_us ? a.at_us > b.at_us : a.turn > b.turn;
  }
};

class Model {
 public:
  explicit Model(const LawfulOptions& options) : options_(options), random_(options.seed) {
    for (std::int64_t i = 0; i < options.terms.total_units; ++i) free_.insert(static_cast<std::uint32_t>(i) + 1);
  }
  std::vector<Event> run();

 private:
  bool happens(std::uint64_t share) { return random_.below(1'000) < share; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  void ask(Event event, std::int64_t sent_us);
  void plan_claims();
  void take_effect(Step step);
  void claim(Event& event);
  void accept(Event& event);
  void follow_up(const Event& claim);
  void release(Event& event);
  void end(Order& order, Status status);
  void show_shelf(Event& event);
  [[nodiscard]] std::int64_t live_units(std::uint64_t buyer, OrderName* one) const;
  [[nodiscard]] std::int64_t units_in(Status status) const;

  const LawfulOptions& options_;
  SeededRandom random_;
  std::priority_queue<Step, std::vector<Step>, IsLater> steps_;
  std::set<std::uint32_t> free_;  // Counted stock uses numbers too and does not tell.
  std::map<OrderName, Order> orders_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, OrderName> by_key_;
  std::vector<Event> history_;
  std::uint64_t requests_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t version_ = 0;
};

void Model::ask(Event event, std::int64_t sent_us) {
  event.request = ++requests_;
  event.planned_us = sent_us - between(0, 500);
  event.sent_us = sent_us;
  const std::int64_t at_us = sent_us + between(0, 3'000);
  event.answered_us = at_us + between(0, 3'000);
  const bool is_doubtful = event.kind == Kind::claim && happens(options_.doubts);
  const bool is_lost = is_doubtful && happens(500);
  if (is_doubtful)
    event.answer = Answer::uncertain;
  else
    event.answer = Answer::accepted;
  steps_.push({at_us, ++turns_, std::move(event), is_lost, false});
}

void Model::plan_claims() {
  for (std::uint32_t buyer = 1; buyer <= options_.buyers; ++buyer) {
    const bool is_keyed = happens(options_.keyed);
    const auto units = static_cast<std::int32_t>(between(1, static_cast<std::int64_t>(options_.units_max)));
    std::int64_t at_us = between(0, options_.span_us);
    const std::int64_t presses = happens(options_.repeats) ? between(2, 4) : 1;
    for (std::int64_t press = 0; press < presses; ++press) {
      Event event;
      event.buyer = buyer;
      event.key = is_keyed ? buyer : 0;
      event.units = units;
      ask(std::move(event), at_us);
      at_us += between(0, options_.span_us / 2);
    }
  }
  for (std::uint32_t i = 0; i < options_.shelves; ++i) {
    Event event;
    event.kind = Kind::shelf;
    ask(std::move(event), between(0, 2 * options_.span_us));
  }
}

std::int64_t Model::live_units(std::uint64_t buyer, OrderName* one) const {
  std::int64_t units = 0;
  for (const auto& [name, order] : orders_) {
    const bool is_live = order.status == Status::pending || order.status == Status::paid;
    if (order.claim.buyer != buyer || !is_live) continue;
    units += order.claim.units;
    *one = name;
  }
  return units;
}

std::int64_t Model::units_in(Status status) const {
  std::int64_t units = 0;
  for (const auto& [name, order] : orders_) units += order.status == status ? order.claim.units : 0;
  return units;
}

void Model::claim(Event& event) {
  const bool is_doubtful = event.answer == Answer::uncertain;
  const std::int64_t now = steps_.top().at_us;
  const auto known = by_key_.find({event.buyer, event.key});
  OrderName owned;
  const std::int64_t held = live_units(event.buyer, &owned);
  if (event.key != 0 && known != by_key_.end()) {
    event.answer = Answer::accepted;
    event.order = known->second;
    event.numbers = options_.is_numbered ? orders_.at(event.order).claim.numbers : std::vector<std::uint32_t>{};
  } else if (now < options_.terms.opens_us) {
    event.answer = Answer::not_open;
  } else if (now >= options_.terms.closes_us) {
    event.answer = Answer::sale_ended;
  } else if (held > 0 && options_.terms.limit_per_buyer == 1 && event.units == 1) {
    event.answer = Answer::already_purchased;
    event.order = owned;
  } else if (held + event.units > options_.terms.limit_per_buyer) {
    event.answer = Answer::limit_reached;
  } else if (static_cast<std::int64_t>(free_.size()) < event.units) {
    event.answer = Answer::sold_out;
    event.may_return = units_in(Status::pending) > 0;
  } else {
    accept(event);
  }
  if (!is_doubtful) return;
  event.answer = Answer::uncertain;
  event.may_return = false;
  event.numbers.clear();
  if (happens(500)) event.order = {};  // Half of the lost answers are 503s that name the order.
}

void Model::accept(Event& event) {
  event.answer = Answer::accepted;
  event.order = {random_.next(), random_.next() | 1};
  Order order{event, Status::pending};
  for (std::int32_t i = 0; i < event.units; ++i) {
    const auto pick = std::next(free_.begin(), static_cast<std::ptrdiff_t>(random_.below(free_.size())));
    order.claim.numbers.push_back(*pick);
    free_.erase(pick);
  }
  if (options_.is_numbered) event.numbers = order.claim.numbers;
  if (event.key != 0) by_key_[{event.buyer, event.key}] = event.order;
  ++version_;
  if (options_.terms.pay_within_us != kNever) {
    Step expiry;
    expiry.at_us = steps_.top().at_us + options_.terms.pay_within_us + between(0, 500'000);
    expiry.turn = ++turns_;
    expiry.event.order = event.order;
    expiry.is_expiry = true;
    steps_.push(std::move(expiry));
  }
  orders_[event.order] = std::move(order);
}

void Model::follow_up(const Event& claim) {
  Event next;
  next.buyer = claim.buyer;
  next.order = claim.order;
  const auto moment = [&] { return claim.answered_us + between(1, options_.span_us); };
  if (happens(options_.cancels)) {
    next.kind = Kind::release;
    ask(next, moment());
  }
  if (happens(options_.payments)) {
    next.kind = Kind::pay;
    ask(next, moment());
  }
  next.kind = Kind::lookup;
  for (int i = 0; i < 3; ++i) {
    if (happens(options_.looks)) ask(next, moment());
  }
  next.buyer = claim.buyer + 1;
  if (happens(options_.looks / 4)) ask(next, moment());
}

void Model::end(Order& order, Status status) {
  order.status = status;
  free_.insert(order.claim.numbers.begin(), order.claim.numbers.end());
  ++version_;
}

void Model::release(Event& event) {
  Order& order = orders_.at(event.order);
  if (order.status == Status::pending)
    end(order, Status::cancelled);
  else
    event.answer = order.status == Status::cancelled ? Answer::accepted : Answer::refused;
}

void Model::show_shelf(Event& event) {
  event.total = options_.terms.total_units;
  event.free = static_cast<std::int64_t>(free_.size());
  event.held = units_in(Status::pending);
  event.sold = units_in(Status::paid);
  event.version = version_;
}

void Model::take_effect(Step step) {
  Event& event = step.event;
  if (step.is_expiry) {
    Order& order = orders_.at(event.order);
    if (order.status != Status::pending) return;
    end(order, Status::expired);
    if (!happens(500)) return;
    event.kind = Kind::release;
    event.answer = Answer::accepted;
    event.planned_us = event.sent_us = step.at_us - between(0, 1'000);
    event.answered_us = step.at_us + between(0, 1'000);
    history_.push_back(event);
    return;
  }
  if (!step.is_lost) {
    switch (event.kind) {
      case Kind::claim: claim(event); break;
      case Kind::release: release(event); break;
      case Kind::pay: {
        Order& order = orders_.at(event.order);
        if (order.status == Status::pending)
          order.status = Status::paid, ++version_;
        else
          event.answer = Answer::refused;
        break;
      }
      case Kind::lookup: {
        const Order& order = orders_.at(event.order);
        event.status = order.status;
        if (order.claim.buyer != event.buyer) event.answer = Answer::refused;
        break;
      }
      case Kind::shelf: show_shelf(event); break;
    }
  }
  history_.push_back(event);
}

std::vector<Event> Model::run() {
  plan_claims();
  while (!steps_.empty()) {
    const std::size_t recorded = history_.size();
    take_effect(steps_.top());
    // The model reads the present instant off the top, so the step leaves only now; what it added comes later.
    steps_.pop();
    if (history_.size() == recorded) continue;
    const Event event = history_.back();
    const bool is_first = event.kind == Kind::claim && event.answer == Answer::accepted &&
                          orders_.at(event.order).claim.request == event.request;
    if (is_first) follow_up(event);
  }
  return std::move(history_);
}

}  // namespace

std::vector<Event> lawful_history(const LawfulOptions& options) { return Model(options).run(); }

LawfulOptions plain() {
  LawfulOptions options;
  options.terms.total_units = 60;
  options.repeats = 200;
  options.looks = 400;
  options.shelves = 40;
  return options;
}

std::string first_of(const Report& report) {
  if (report.is_clean()) return "nothing was found";
  const Finding& finding = report.findings.front();
  return std::string(name(finding.rule)) + " at event " + std::to_string(finding.event) + ": " + finding.text;
}

}  // namespace weir::auditor
