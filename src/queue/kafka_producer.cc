#include "queue/kafka_producer.h"

#include "base/check.h"
#include "base/log.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

Fate fate_of(rd_kafka_msg_status_t status) {
  switch (status) {
    case RD_KAFKA_MSG_STATUS_PERSISTED: return Fate::durable;
    case RD_KAFKA_MSG_STATUS_NOT_PERSISTED: return Fate::not_persisted;
    case RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED: return Fate::unknown;
  }
  return Fate::unknown;
}

/// The client carries this along with a message. Slots are counted from 1, so that it is never null.
void* opaque_of(std::size_t slot) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that travels through a C interface.
  return reinterpret_cast<void*>(slot + 1);
}
std::size_t slot_of(void* opaque) { return reinterpret_cast<std::size_t>(opaque) - 1; }

void wake_callback(rd_kafka_t*, void* wake) { (*static_cast<std::function<void()>*>(wake))(); }

}  // namespace

Result<std::unique_ptr<KafkaProducer>> KafkaProducer::create(KafkaOptions options, const Clock& clock) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private, so make_unique cannot reach it.
  std::unique_ptr<KafkaProducer> made{new KafkaProducer(std::move(options), clock)};
  if (const auto started = made->start(); !started) return std::unexpected(started.error());
  return made;
}

KafkaProducer::KafkaProducer(KafkaOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), slots_(kPublishInFlightMax), window_(kPublishInFlightMax) {
  free_.reserve(slots_.size());
  arrived_.reserve(slots_.size());
  for (std::size_t slot = slots_.size(); slot > 0; --slot) free_.push_back(slot - 1);
}

KafkaProducer::~KafkaProducer() {
  // No callback while the members go. What was not drained is driven again by others.
  if (client_) rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  client_.reset();
}

Result<void> KafkaProducer::start() {
  const std::string deadline = fmt::format("{}", options_.publish_deadline.count() / 1000);
  const std::array own{
      KafkaSetting{"acks", "all"},
      KafkaSetting{"enable.idempotence", "true"},
      KafkaSetting{"delivery.timeout.ms", deadline},
      // A broker that waits for its replicas for longer than we wait for it would only be asked again.
      KafkaSetting{"request.timeout.ms", deadline},
      KafkaSetting{"socket.timeout.ms", deadline},
      KafkaSetting{"retry.backoff.ms", "50"},
      KafkaSetting{"linger.ms", "0"},
      KafkaSetting{"queue.buffering.max.messages", fmt::format("{}", 2 * kPublishInFlightMax)},
      // As the Java clients do it: whoever else writes to this topic meets the same partitions.
      KafkaSetting{"partitioner", "murmur2_random"},
  };
  auto conf = make_kafka_conf(options_, own);
  if (!conf) return std::unexpected(conf.error());
  rd_kafka_conf_set_opaque(conf->get(), this);
  rd_kafka_conf_set_dr_msg_cb(conf->get(), delivery_callback);
  rd_kafka_conf_set_error_cb(conf->get(), error_callback);
  auto client = make_kafka_client(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!client) return std::unexpected(client.error());
  client_ = std::move(*client);
  is_fatal_ = false;
  if (wake_) {
    const KafkaQueue queue{rd_kafka_queue_get_main(client_.get())};
    rd_kafka_queue_cb_event_enable(queue.get(), wake_callback, &wake_);
  }
  return {};
}

void KafkaProducer::set_wake(std::function<void()> wake) {
  CHECK(open_count() == 0 && !wake_, "the wake is set once, before the first append");
  wake_ = std::move(wake);
  if (!client_) return;
  const KafkaQueue queue{rd_kafka_queue_get_main(client_.get())};
  rd_kafka_queue_cb_event_enable(queue.get(), wake_callback, &wake_);
}

std::size_t KafkaProducer::room() {
  replace_if_fatal();
  if (!client_ || is_fatal_) return 0;
  const std::size_t open = open_count();
  return std::min(slots_.size() - open - arrived_.size(), window_ > open ? window_ - open : 0);
}

void KafkaProducer::append(std::span<const ClaimMessage> messages) {
  const std::size_t places = free_.size() - arrived_.size();
  CHECK(messages.size() <= places, "{} messages, room for {}", messages.size(), places);
  for (const ClaimMessage& message : messages) publish(message);
}

void KafkaProducer::publish(const ClaimMessage& message) {
  const std::size_t slot = free_.back();
  free_.pop_back();
  slots_[slot] = {.order = message.order, .pay_by = message.promised_pay_by, .is_open = true};
  auto value = write_claim_message(message);
  if (!value) {
    log::error("kafka_message_refused", {{"order", message.order.text()}, {"message", value.error()}});
    conclude(slot, Fate::not_persisted);
    return;
  }
  std::string topic = options_.topic;
  std::string key = message.item;
  std::string version_name{kVersionHeader};
  std::string version{kClaimMessageVersion};
  std::array<rd_kafka_vu_t, 6> parts{};
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = topic.c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_KEY;
  parts[1].u.mem = {.ptr = key.data(), .size = key.size()};
  parts[2].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[2].u.mem = {.ptr = value->data(), .size = value->size()};
  parts[3].vtype = RD_KAFKA_VTYPE_HEADER;
  parts[3].u.header = {
      .name = version_name.c_str(), .val = version.data(), .size = static_cast<ssize_t>(version.size())};
  parts[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[4].u.i = RD_KAFKA_MSG_F_COPY;
  parts[5].vtype = RD_KAFKA_VTYPE_OPAQUE;
  parts[5].u.ptr = opaque_of(slot);
  const KafkaError error{client_ ? rd_kafka_produceva(client_.get(), parts.data(), parts.size())
                                 : rd_kafka_error_new(RD_KAFKA_RESP_ERR__FATAL, "no client")};
  if (!error) return;
  // What the client did not take has never left this process.
  log::warn("kafka_publish_refused",
            {{"order", message.order.text()}, {"message", rd_kafka_error_string(error.get())}});
  shrink();
  conclude(slot, Fate::not_persisted);
}

std::size_t KafkaProducer::outcomes(std::span<Outcome> out) {
  if (client_) rd_kafka_poll(client_.get(), 0);
  replace_if_fatal();
  const std::size_t count = std::min(out.size(), arrived_.size());
  std::copy_n(arrived_.begin(), count, out.begin());
  arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

std::size_t KafkaProducer::drain(Deadline deadline) {
  for (int left = wait_ms(deadline, clock_); open_count() > 0 && client_; left = wait_ms(deadline, clock_)) {
    rd_kafka_flush(client_.get(), left);
    replace_if_fatal();
    if (left == 0) break;
  }
  return open_count();
}

void KafkaProducer::conclude(std::size_t slot, Fate fate) {
  Slot& known = slots_.at(slot);
  CHECK(known.is_open, "order {}: a second report of one publish", known.order.text());
  known.is_open = false;
  switch (fate) {
    case Fate::durable: ++counts_.durable; break;
    case Fate::not_persisted: ++counts_.not_persisted; break;
    case Fate::unknown: ++counts_.unknown; break;
    case Fate::decided:
    case Fate::handed_over: CHECK(false, "a log says only how far a message got"); break;
  }
  arrived_.push_back({.order = known.order,
                      .fate = fate,
                      .recording = Recording::recorded,
                      .status = OrderStatus::pending,
                      .pay_by = known.pay_by});
  free_.push_back(slot);
}

void KafkaProducer::on_delivery(const rd_kafka_message_t& message) {
  const Fate fate = fate_of(rd_kafka_message_status(&message));
  if (fate == Fate::durable) {
    window_ = std::min(window_ * 2, kPublishInFlightMax);
  } else {
    log::warn("kafka_publish_failed", {{"order", slots_.at(slot_of(message._private)).order.text()},
                                       {"fate", fate == Fate::unknown ? "unknown" : "not_persisted"},
                                       {"message", kafka_error(message.err, "publish", options_).message}});
    shrink();
  }
  conclude(slot_of(message._private), fate);
}

void KafkaProducer::on_error(rd_kafka_resp_err_t code, const char* reason) {
  if (code == RD_KAFKA_RESP_ERR__FATAL) {
    is_fatal_ = true;
  } else if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    shrink();
  }
  log::warn("kafka_trouble", {{"message", kafka_error(code, reason, options_).message}});
}

void KafkaProducer::shrink() { window_ = 1; }

void KafkaProducer::replace_if_fatal() {
  if (client_ && !is_fatal_) return;
  const Ticks now = clock_.ticks();
  if (was_replaced_ && now < replaced_at_ + Micros{kProducerRestUs}) return;
  was_replaced_ = true;
  replaced_at_ = now;
  ++counts_.recreated;
  if (client_) {
    std::array<char, 512> why{};
    const rd_kafka_resp_err_t code = rd_kafka_fatal_error(client_.get(), why.data(), why.size());
    log::error("kafka_producer_replaced", {{"code", rd_kafka_err2name(code)}, {"message", why.data()}});
    client_.reset();
  }
  shrink();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].is_open) conclude(slot, Fate::unknown);
  if (const auto started = start(); !started)
    log::error("kafka_producer_not_replaced", {{"message", started.error().message}});
}

void KafkaProducer::delivery_callback(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
  static_cast<KafkaProducer*>(self)->on_delivery(*message);
}

void KafkaProducer::error_callback(rd_kafka_t*, int code, const char* reason, void* self) {
  static_cast<KafkaProducer*>(self)->on_error(static_cast<rd_kafka_resp_err_t>(code), reason);
}

}  // namespace weir
