#include "payment/sandbox_network.h"

#include "base/check.h"
#include "config/limits.h"
#include "payment/sandbox_event.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

/// 0.5 s, 1 s, 2 s … up to half a minute.
Micros back_off(int attempts) {
  const int doublings = std::min(attempts, 6);
  return Micros{std::min(kSandboxBackOffUs << doublings, kSandboxBackOffMaxUs)};
}

}  // namespace

SandboxNetwork::SandboxNetwork(std::unique_ptr<SandboxStore> store, const Clock& clock, Random& random)
    : store_(std::move(store)), clock_(clock), random_(random) {}

Result<std::unique_ptr<SandboxNetwork>> SandboxNetwork::open(const std::string& path, const Clock& clock,
                                                             Random& random) {
  Result<std::unique_ptr<SandboxStore>> store = SandboxStore::open(path);
  if (!store) return std::unexpected(store.error());
  std::unique_ptr<SandboxNetwork> network(new SandboxNetwork(std::move(*store), clock, random));
  if (const Result<void> taken = network->take_up_stored_events(); !taken) return std::unexpected(taken.error());
  return network;
}

Result<void> SandboxNetwork::take_up_stored_events() {
  const std::lock_guard lock(mutex_);
  const Result<std::vector<StoredEvent>> events = store_->events(kSandboxWaitingMax);
  if (!events) return std::unexpected(events.error());
  for (const StoredEvent& stored : *events) {
    Parsed<GatewayEvent> event = parse_event(stored.body);
    if (!event) return fail(Failure::corrupt, fmt::format("the sandbox's event {}: {}", stored.id, event.error()));
    let_wait(clock_.ticks(), Waiting{*event, stored.body, 1, 0});
  }
  return {};
}

bool SandboxNetwork::has_room(int webhooks) const {
  return webhooks_ + static_cast<std::size_t>(webhooks) <= kSandboxWaitingMax;
}

void SandboxNetwork::let_wait(Ticks due, Waiting waiting) {
  webhooks_ += static_cast<std::size_t>(waiting.times);
  if (!waiting.body.empty()) {
    notices_[waiting.event.id] = Notice{waiting.times, waiting.event.refund};
    if (!waiting.event.refund.is_none()) refunds_told_.insert(waiting.event.refund);
  }
  waiting_.emplace(due, std::move(waiting));
}

Result<void> SandboxNetwork::start(PaymentId payment, Money amount) {
  const std::lock_guard lock(mutex_);
  const Result<std::optional<SandboxStatus>> known = store_->status(payment);
  if (!known) return std::unexpected(known.error());
  if (!*known) return store_->add_payment(payment, amount);
  if ((*known)->amount == amount) return {};
  return fail(Failure::unfit, fmt::format("payment {} was started with another amount", payment.text()));
}

SandboxOrder SandboxNetwork::complete(PaymentId payment, const Completion& completion) {
  const std::int64_t delay_us = completion.delay.count();
  if (delay_us < 0 || delay_us > kSandboxDelayMaxUs) return SandboxOrder::out_of_range;
  if (completion.times < 1 || completion.times > kSandboxTimesMax) return SandboxOrder::out_of_range;
  const std::lock_guard lock(mutex_);
  const Result<std::optional<SandboxStatus>> known = store_->status(payment);
  if (!known || !*known) return SandboxOrder::unknown_payment;
  if (!has_room(completion.times)) return SandboxOrder::full;
  GatewayEvent event{.id = new_event_id(random_),
                     .kind = completion.approve ? PaymentEventKind::captured : PaymentEventKind::declined,
                     .payment = payment,
                     .refund = {},
                     .amount = (*known)->amount};
  let_wait(clock_.ticks() + completion.delay, Waiting{std::move(event), {}, completion.times, 0});
  return SandboxOrder::taken;
}

/// Whether this very refund was recorded before; a failure when it may not be recorded.
Result<bool> SandboxNetwork::is_repeat(PaymentId payment, RefundId refund, Money amount) {
  const auto refuse = [&](std::string_view why) {
    return fail(Failure::unavailable, fmt::format("refund {} of payment {}: {}", refund.text(), payment.text(), why));
  };
  const Result<std::optional<SandboxStatus>> known = store_->status(payment);
  if (!known) return std::unexpected(known.error());
  if (!*known) return refuse("the sandbox knows no such payment");
  const SandboxStatus& status = **known;
  if (amount.currency != status.amount.currency) return refuse("it is in another currency");
  const auto done = std::ranges::find(status.refunds, refund, &Refund::id);
  if (done != status.refunds.end()) {
    if (done->amount == amount) return true;
    return refuse("it was asked for with another amount before");
  }
  const Result<std::optional<PaymentId>> other = store_->payment_of(refund);
  if (!other) return std::unexpected(other.error());
  if (*other) return refuse("the id stands for a refund of another payment");
  if (amount.value < 0 || amount.value > status.captured - status.refunded) {
    return refuse("more would be given back than was captured");
  }
  return false;
}

Result<void> SandboxNetwork::record_refund(const GatewayEvent& event, const std::string& body, bool is_new) {
  Result<void> done = store_->begin();
  if (done && is_new) done = store_->add_refund(event.refund, event.payment, event.amount.value);
  if (done) done = store_->add_event({event.id, body});
  if (done) done = store_->commit();
  if (!done) store_->roll_back();
  return done;
}

Result<void> SandboxNetwork::refund(PaymentId payment, RefundId refund, Money amount) {
  const std::lock_guard lock(mutex_);
  const Result<bool> repeated = is_repeat(payment, refund, amount);
  if (!repeated) return std::unexpected(repeated.error());
  if (*repeated && refunds_told_.contains(refund)) return {};
  if (!has_room(1)) return fail(Failure::overloaded, "too many webhooks of the sandbox wait");
  GatewayEvent event{.id = new_event_id(random_),
                     .kind = PaymentEventKind::refund_done,
                     .payment = payment,
                     .refund = refund,
                     .amount = amount};
  std::string body = event_text(event, clock_.now());
  if (const Result<void> done = record_refund(event, body, !*repeated); !done) return done;
  let_wait(clock_.ticks(), Waiting{std::move(event), std::move(body), 1, 0});
  return {};
}

Result<std::optional<SandboxStatus>> SandboxNetwork::status(PaymentId payment) {
  const std::lock_guard lock(mutex_);
  return store_->status(payment);
}

std::vector<SandboxNetwork::Waitings::iterator> SandboxNetwork::find_due(Ticks now) {
  std::vector<Waitings::iterator> due;
  std::size_t webhooks = 0;
  for (auto one = waiting_.begin(); one != waiting_.end() && one->first <= now; ++one) {
    webhooks += static_cast<std::size_t>(one->second.times);
    if (webhooks > kSandboxBatchMax) break;
    due.push_back(one);
  }
  return due;
}

/// Makes the events whose moment has come and drops those that were delivered, in one transaction.
Result<void> SandboxNetwork::write_due(const std::vector<Waitings::iterator>& due) {
  std::map<std::string, int> posted;
  for (const std::string& id : handed_out_) ++posted[id];
  const auto is_new = [](const Waitings::iterator& one) { return one->second.body.empty(); };
  if (posted.empty() && std::ranges::none_of(due, is_new)) return {};
  Result<void> done = store_->begin();
  for (auto one = posted.begin(); done && one != posted.end(); ++one) {
    if (one->second == notices_.at(one->first).webhooks) done = store_->drop_event(one->first);
  }
  for (std::size_t i = 0; done && i < due.size(); ++i) {
    if (!is_new(due[i])) continue;
    const GatewayEvent& event = due[i]->second.event;
    if (event.kind == PaymentEventKind::captured) done = store_->capture(event.payment);
    if (done) done = store_->add_event({event.id, event_text(event, clock_.now())});
  }
  if (done) done = store_->commit();
  if (!done) store_->roll_back();
  return done;
}

void SandboxNetwork::forget_webhook(const std::string& event_id) {
  --webhooks_;
  const auto notice = notices_.find(event_id);
  CHECK(notice != notices_.end(), "event {}", event_id);
  if (--notice->second.webhooks > 0) return;
  refunds_told_.erase(notice->second.refund);
  notices_.erase(notice);
}

void SandboxNetwork::forget_handed_out() {
  for (const std::string& id : handed_out_) forget_webhook(id);
  handed_out_.clear();
}

std::vector<SandboxDelivery> SandboxNetwork::take_due(Ticks now) {
  const std::lock_guard lock(mutex_);
  const std::vector<Waitings::iterator> due = find_due(now);
  if (!write_due(due)) return {};  // Nothing has changed; the next call tries again.
  forget_handed_out();
  std::vector<SandboxDelivery> deliveries;
  for (const Waitings::iterator& one : due) {
    Waiting& waiting = one->second;
    if (waiting.body.empty()) {
      waiting.body = event_text(waiting.event, clock_.now());
      notices_[waiting.event.id] = Notice{waiting.times, {}};
    }
    for (int i = 0; i < waiting.times; ++i) {
      deliveries.push_back({waiting.event.id, waiting.body, waiting.attempts});
      handed_out_.push_back(waiting.event.id);
    }
    waiting_.erase(one);
  }
  return deliveries;
}

void SandboxNetwork::put_back(const SandboxDelivery& delivery, Ticks now) {
  const std::lock_guard lock(mutex_);
  const auto handed = std::ranges::find(handed_out_, delivery.event_id);
  if (handed == handed_out_.end()) return;  // It counts as delivered already.
  handed_out_.erase(handed);
  const int attempts = delivery.attempts + 1;
  if (attempts >= kSandboxTriesMax) return forget_webhook(delivery.event_id);  // Its row stays for the next start.
  GatewayEvent event;
  event.id = delivery.event_id;
  waiting_.emplace(now + back_off(delivery.attempts), Waiting{std::move(event), delivery.body, 1, attempts});
}

std::optional<Ticks> SandboxNetwork::next_due() const {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->first;
}

}  // namespace weir
