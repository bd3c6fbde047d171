#include "queue/kafka_dead_letters.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

/// What has become of one call's letters, as the delivery reports count it.
struct Tally {
  std::size_t durable = 0;
  rd_kafka_resp_err_t last = RD_KAFKA_RESP_ERR_NO_ERROR;
};

void count_report(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  auto& tally = *static_cast<Tally*>(opaque);
  if (rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_PERSISTED)
    ++tally.durable;
  else
    tally.last = message->err;
}

rd_kafka_vu_t header(const char* name, const std::string& value) {
  rd_kafka_vu_t part{};
  part.vtype = RD_KAFKA_VTYPE_HEADER;
  part.u.header = {.name = name, .val = value.data(), .size = static_cast<ssize_t>(value.size())};
  return part;
}

rd_kafka_resp_err_t produce(rd_kafka_t& client, const std::string& topic, const DeadLetter& letter) {
  const std::string partition = fmt::format("{}", letter.partition);
  const std::string offset = fmt::format("{}", letter.offset);
  std::string key = letter.key;
  std::string bytes = letter.bytes;
  std::array<rd_kafka_vu_t, 8> parts{};
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = topic.c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_KEY;
  parts[1].u.mem = {.ptr = key.data(), .size = key.size()};
  parts[2].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[2].u.mem = {.ptr = bytes.data(), .size = bytes.size()};
  parts[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[3].u.i = RD_KAFKA_MSG_F_COPY;
  parts[4] = header("reason", letter.reason);
  parts[5] = header("topic_id", letter.topic_id);
  parts[6] = header("partition", partition);
  parts[7] = header("offset", offset);
  const KafkaError error{rd_kafka_produceva(&client, parts.data(), parts.size())};
  return error ? rd_kafka_error_code(error.get()) : RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace

KafkaDeadLetters::KafkaDeadLetters(KafkaOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

Result<void> KafkaDeadLetters::publish(std::span<const DeadLetter> letters, Deadline deadline) {
  CHECK(letters.size() <= kDeadLettersMax, "{} letters, {} at most", letters.size(), kDeadLettersMax);
  if (letters.empty()) return {};
  const std::string wait = fmt::format("{}", std::max(1000, wait_ms(deadline, clock_)));
  const std::array own{
      KafkaSetting{"acks", "all"},
      KafkaSetting{"enable.idempotence", "true"},
      KafkaSetting{"delivery.timeout.ms", wait},
      KafkaSetting{"request.timeout.ms", wait},
      KafkaSetting{"linger.ms", "1"},
      // What could be read from the one topic can be written to the other; the brokers have the last word.
      KafkaSetting{"message.max.bytes", "1000000000"},
  };
  auto conf = make_kafka_conf(options_, own);
  if (!conf) return std::unexpected(conf.error());
  Tally tally;
  rd_kafka_conf_set_opaque(conf->get(), &tally);
  rd_kafka_conf_set_dr_msg_cb(conf->get(), count_report);
  const auto client = make_kafka_client(RD_KAFKA_PRODUCER, std::move(*conf));
  if (!client) return std::unexpected(client.error());
  for (const DeadLetter& letter : letters)
    if (const auto code = produce(**client, options_.dead_letter_topic, letter); code != RD_KAFKA_RESP_ERR_NO_ERROR)
      tally.last = code;
  const rd_kafka_resp_err_t flushed = rd_kafka_flush(client->get(), wait_ms(deadline, clock_));
  if (tally.durable == letters.size()) return {};
  const rd_kafka_resp_err_t code = tally.last != RD_KAFKA_RESP_ERR_NO_ERROR ? tally.last : flushed;
  Error error = kafka_error(
      code, fmt::format("{} of {} dead letters are in {}", tally.durable, letters.size(), options_.dead_letter_topic),
      options_);
  return std::unexpected(std::move(error));
}

}  // namespace weir
