// Fills the log of a shop of several processes, and records what lies in it, each without the rest of the shop:
// `distributed_log fill BROKERS ITEM CLAIMS` publishes claims of new buyers at the epoch that is open;
// `distributed_log record BROKERS REDIS GATE BATCH ROWS` records at most BATCH of them in a transaction, as a worker
// does it; GATE is the ledger's name in the gate. Both print how fast it went as JSON. WEIR_POSTGRES_DSN says where the
// ledger is.

#include "base/check.h"
#include "base/system_clock.h"
#include "base/system_random.h"
#include "config/limits.h"
#include "flow/lease.h"
#include "flow/record_log.h"
#include "gate/redis_gate.h"
#include "ledger/postgres_ledger.h"
#include "ledger/postgres_reader.h"
#include "queue/kafka_consumer.h"
#include "queue/kafka_producer.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kWait{10'000'000};
constexpr Micros kRecordWithin{120'000'000};
constexpr Micros kFillWithin{60'000'000};

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  CHECK(error == std::errc{} && end == text.data() + text.size() && value > 0, "text={}", text);
  return value;
}

template <typename T>
T must(Result<T> got, std::string_view what) {
  CHECK(got.has_value(), "{}: {}", what, got.error().message);
  return *std::move(got);
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

KafkaOptions log_at(std::string_view brokers) {
  KafkaOptions options;
  options.brokers = list_of(brokers);
  return options;
}

PostgresOptions ledger_options() {
  const char* const dsn = std::getenv("WEIR_POSTGRES_DSN");
  CHECK(dsn != nullptr, "WEIR_POSTGRES_DSN is not set");
  PostgresOptions options;
  options.dsn = dsn;
  options.sells_alone = false;
  return options;
}

/// What both verbs need of the shop.
struct Shop {
  Shop()
      : ledger(must(PostgresLedger::open(ledger_options(), clock, random), "ledger")),
        reader(must(PostgresReader::open(ledger_options(), clock), "ledger")),
        lease(*ledger) {
    catalog.set(std::make_shared<const Catalog>(must(reader->catalog(), "catalog")));
    static_cast<void>(must(lease.step(clock.ticks()), "lease"));
  }

  SystemClock clock;
  SystemRandom random;
  std::unique_ptr<SharedLedger> ledger;
  std::unique_ptr<LedgerReader> reader;
  Snapshot<Catalog> catalog;
  Lease lease;
};

/// A claim of a buyer who has never come before, as a node publishes it.
ClaimMessage message_for(Shop& shop, const Item& item, std::int64_t epoch, std::string_view crowd,
                         std::int64_t number) {
  Claim claim;
  claim.order = OrderId::random(shop.random);
  claim.tenant = shop.catalog.get()->sale(item.sale)->tenant;
  claim.sale = item.sale;
  claim.item = item.no;
  claim.digest = purchase_digest(item.no, 1);
  claim.promised_pay_by = shop.clock.now() + Micros{600'000'000};
  claim.buyer = *BuyerName::from(fmt::format("{}-{}", crowd, number));
  auto message = message_of(claim, epoch, shop.clock.now(), *shop.catalog.get());
  CHECK(message.has_value());
  return *std::move(message);
}

void hear(LogProducer& log, std::vector<Outcome>& outcomes) {
  const std::size_t heard = log.outcomes(outcomes);
  for (const Outcome& outcome : std::span(outcomes).first(heard)) CHECK(outcome.fate == Fate::durable);
}

void fill(std::string_view brokers, std::string_view item_id, std::int64_t count) {
  Shop shop;
  const auto catalog = shop.catalog.get();
  const Item* const item = catalog->item_by_id(catalog->tenants().front().no, item_id);
  CHECK(item != nullptr, "item={}", item_id);
  const auto state = shop.lease.open_at(item->sale, shop.clock.ticks());
  CHECK(state.has_value(), "the gate of {} is not open", item_id);
  const std::string crowd = fmt::format("crowd{:x}", shop.random.next() >> 40);
  const auto log = must(KafkaProducer::create(log_at(brokers), shop.clock), "log");
  std::vector<Outcome> outcomes(kPublishInFlightMax);
  std::vector<ClaimMessage> messages;
  const Ticks begin = shop.clock.ticks();
  for (std::int64_t made = 0; made < count;) {
    CHECK(shop.clock.ticks() - begin < kFillWithin, "made={}", made);
    hear(*log, outcomes);
    const auto room = static_cast<std::int64_t>(log->room());
    messages.clear();
    for (std::int64_t i = std::min(room, count - made); i > 0; --i)
      messages.push_back(message_for(shop, *item, state->epoch, crowd, ++made));
    log->append(messages);
  }
  CHECK(log->drain(shop.clock.ticks() + kWait) == 0, "not all of it became durable");
  hear(*log, outcomes);
  const std::int64_t us = std::max<std::int64_t>((shop.clock.ticks() - begin).count(), 1);
  fmt::print("{{\"claims\":{},\"us\":{},\"perSecond\":{}}}\n", count, us, count * 1'000'000 / us);
}

/// A log that never gives more than so many records at once.
class ShortRuns final : public LogConsumer {
 public:
  ShortRuns(LogConsumer& log, std::size_t entries_max) : log_(log), entries_max_(entries_max) {}
  [[nodiscard]] Result<LogAssignment> assignment(Deadline deadline) override { return log_.assignment(deadline); }
  Result<void> seek(std::int32_t partition, std::int64_t offset) override { return log_.seek(partition, offset); }
  [[nodiscard]] Result<LogBatch> take(std::int32_t partition, std::size_t entries_max, Deadline deadline) override {
    return log_.take(partition, std::min(entries_max, entries_max_), deadline);
  }
  [[nodiscard]] Result<LogRanges> ranges(Deadline deadline) override { return log_.ranges(deadline); }
  void hint(std::int32_t partition, std::int64_t next_offset) override { log_.hint(partition, next_offset); }

 private:
  LogConsumer& log_;
  std::size_t entries_max_;
};

std::int64_t cpu_us() {
  rusage used{};
  CHECK(::getrusage(RUSAGE_SELF, &used) == 0);
  const auto us = [](const timeval& time) { return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec; };
  return us(used.ru_utime) + us(used.ru_stime);
}

/// What a worker does after a failure: goes on, and asks the ledger first what became of it.
void bear(Shop& shop, const Result<std::size_t>& stepped) {
  if (stepped) return;
  const Failure failure = stepped.error().failure;
  CHECK(failure == Failure::unavailable || failure == Failure::timed_out, "{}", stepped.error().message);
  CHECK(shop.ledger->recover(shop.clock.ticks() + kWait).has_value());
}

struct RecordOrder {
  std::string_view brokers;
  std::string_view redis;
  std::string_view gate;
  std::int64_t batch = 0;
  std::int64_t rows = 0;
};

void record(const RecordOrder& order) {
  Shop shop;
  RedisGateOptions gate_options;
  gate_options.servers.nodes = list_of(order.redis);
  gate_options.ledger = order.gate;
  gate_options.buyer_key = [](TenantNo, std::string_view) { return BuyerKey{}; };
  const auto gate = must(RedisGate::connect(std::move(gate_options), shop.clock, std::make_unique<SystemRandom>(),
                                            shop.clock.ticks() + kWait),
                         "gate");
  const auto consumer = must(KafkaConsumer::create(log_at(order.brokers), shop.clock), "log");
  ShortRuns log{*consumer, static_cast<std::size_t>(order.batch)};
  RecordLog recorder{log, *shop.ledger, *gate, shop.lease, shop.catalog, *shop.reader};
  const auto recorded = [&] { return static_cast<std::int64_t>(recorder.counts().recorded); };
  const Ticks begin = shop.clock.ticks();
  // The first run comes after the group has met; the clock starts when it is recorded.
  Ticks first;
  std::int64_t before = 0;
  std::int64_t cpu_before = 0;
  while (recorded() < order.rows + before) {
    const Ticks now = shop.clock.ticks();
    CHECK(now - begin < kRecordWithin, "recorded={}", recorded());
    bear(shop, shop.lease.step(now));
    bear(shop, recorder.step(now));
    if (before == 0 && recorded() > 0) {
      before = recorded();
      first = shop.clock.ticks();
      cpu_before = cpu_us();
    }
  }
  const std::int64_t us = std::max<std::int64_t>((shop.clock.ticks() - first).count(), 1);
  const std::int64_t done = recorded() - before;
  fmt::print("{{\"rows\":{},\"us\":{},\"perSecond\":{},\"batches\":{},\"cpuUs\":{}}}\n", done, us,
             done * 1'000'000 / us, recorder.counts().batches, cpu_us() - cpu_before);
}

}  // namespace
}  // namespace weir

int main(int count, char** words) {
  const std::string_view verb = count > 1 ? words[1] : "";
  if (verb == "fill" && count == 5) {
    weir::fill(words[2], words[3], weir::number(words[4]));
    return EXIT_SUCCESS;
  }
  if (verb == "record" && count == 7) {
    weir::record({words[2], words[3], words[4], weir::number(words[5]), weir::number(words[6])});
    return EXIT_SUCCESS;
  }
  fmt::print(stderr, "usage: distributed_log fill BROKERS ITEM CLAIMS | record BROKERS REDIS GATE BATCH ROWS\n");
  return 2;
}
