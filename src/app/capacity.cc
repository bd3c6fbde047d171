#include "app/capacity.h"

#include "base/check.h"
#include "base/json_text.h"
#include "base/time_text.h"
#include "config/limits.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weir {
namespace {

// How many times what the figures ask for. Cores at half their time answer a rush that is uneven, and a second press.
constexpr double kCoreMargin = 2.0;
// A slot is one thread. The fuller its queue the larger are the scripts and the cheaper is each claim, so two thirds of
// its time are not too much.
constexpr double kSlotMargin = 1.5;
constexpr double kRowMargin = 1.5;  // Rows may trail: nobody waits for them.
constexpr double kNetMargin = 2.0;
constexpr double kConnectionMargin = 1.25;

constexpr std::int64_t kConnectionsPerNode = 120'000;  // The default of `http.connections_max`.
constexpr double kPacketBytes = 120;                   // Headers of a packet and of its acknowledgement.
constexpr std::int64_t kLedgerConnectionsOfNode = 8;
constexpr std::int64_t kLedgerConnectionsOfWorker = 6;
constexpr std::int64_t kLedgerConnectionsOfPeople = 10;
constexpr std::int64_t kPairMin = 2;  // Of nodes and of workers: one may die.
constexpr double kMicrosPerS = 1e6;

double value(FigureId id) { return figure(id).value; }

std::int64_t whole(double amount) { return static_cast<std::int64_t>(std::ceil(amount - 1e-9)); }

/// `1,234,567`.
std::string grouped(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

/// What is asked for, as rates.
struct Load {
  explicit Load(const CapacityOrder& order)
      : within_s(static_cast<double>(order.within.count()) / kMicrosPerS),
        sales(static_cast<double>(order.sales)),
        winners(static_cast<double>(std::min(order.units, order.buyers))),
        requests_of_sale(static_cast<double>(order.buyers) / within_s),
        requests(requests_of_sale * sales),
        winners_per_s(winners / within_s * sales),
        connections(static_cast<double>(order.buyers) * sales) {}

  double within_s;
  double sales;
  double winners;           // Of one sale.
  double requests_of_sale;  // A second.
  double requests;          // A second, of all sales.
  double winners_per_s;     // Of all sales.
  double connections;
};

/// Cores that a process of this cost is busy with, for every winner of the second.
double winner_cores(const Load& load, FigureId cost) { return load.winners_per_s * value(cost) / kMicrosPerS; }

Need node_cores(const Load& load) {
  const double refusals = load.requests * value(FigureId::node_refusal_us) / kMicrosPerS;
  const double winners = winner_cores(load, FigureId::node_winner_us);
  return {.name = "nodeCores",
          .label = "cores for nodes",
          .amount = std::max<std::int64_t>(1, whole((refusals + winners) * kCoreMargin)),
          .unit = "cores",
          .why = fmt::format("refusals keep {:.2f} busy, winners {:.2f}", refusals, winners),
          .figures = {FigureId::node_refusal_us, FigureId::node_winner_us},
          .margin = kCoreMargin};
}

Need connections(const Load& load) {
  const double bytes = load.connections * value(FigureId::connection_bytes);
  return {
      .name = "connections",
      .label = "connections of buyers",
      .amount = whole(load.connections * kConnectionMargin),
      .unit = "connections",
      .why = fmt::format("one a buyer when nothing stands in front; {} MiB in the nodes, the kernel's own come on top",
                         grouped(whole(bytes / (1024 * 1024)))),
      .figures = {FigureId::connection_bytes},
      .margin = kConnectionMargin};
}

Need nodes(const Load& load, const CapacityOrder& order, const Need& cores, const Need& connections) {
  const std::int64_t by_cores = (cores.amount + order.cores_per_node - 1) / order.cores_per_node;
  const std::int64_t by_connections = (connections.amount + kConnectionsPerNode - 1) / kConnectionsPerNode;
  const std::int64_t by_log = whole(load.winners_per_s * kCoreMargin / value(FigureId::node_publishes_per_s));
  return {.name = "nodes",
          .label = "nodes (weir api)",
          .amount = std::max({kPairMin, by_cores, by_connections, by_log}),
          .unit = "processes",
          .why = fmt::format("{} by cores, {} by connections, {} by what one publishes; one may die", by_cores,
                             by_connections, by_log),
          .figures = {FigureId::node_publishes_per_s},
          .margin = 1};
}

/// The part of one second in which the thread behind one sale's slot is busy.
double slot_share(const Load& load) {
  // A node goes on asking the gate for as long as the counts it knows are old.
  const double late_claims = load.requests_of_sale * static_cast<double>(kShelfLookUs) / kMicrosPerS;
  const double us =
      load.winners * value(FigureId::redis_winner_us) + late_claims * value(FigureId::redis_refused_claim_us);
  return us / kMicrosPerS / load.within_s;
}

Need slot(const Load& load) {
  const double share = slot_share(load);
  return {.name = "slotPercent",
          .label = "busiest slot of Redis",
          .amount = whole(100 * share * kSlotMargin),
          .unit = "percent of one core",
          .why = fmt::format("a sale's scripts run on one slot, one after the other: {:.1f} % of a core", 100 * share),
          .figures = {FigureId::redis_winner_us, FigureId::redis_refused_claim_us},
          .margin = kSlotMargin};
}

Need shards(const Load& load) {
  // A sale is not divided: one whose slot is too busy has a primary of its own, and that is all that can be done.
  const double sales_a_shard = std::clamp(std::floor(1 / (slot_share(load) * kSlotMargin)), 1.0, load.sales);
  return {.name = "redisShards",
          .label = "primaries of Redis",
          .amount = whole(load.sales / sales_a_shard),
          .unit = "servers",
          .why = fmt::format("{:.0f} of these sales on each; a replica elsewhere for every one", sales_a_shard),
          .figures = {FigureId::redis_winner_us, FigureId::redis_refused_claim_us},
          .margin = kSlotMargin};
}

Need workers(const Load& load) {
  const double rows = value(FigureId::worker_rows_per_s);
  const std::int64_t wanted = whole(load.winners_per_s * kRowMargin / rows);
  // A sale's item is one partition, and a partition is recorded by one worker at a time.
  const std::int64_t useful = std::min(wanted, static_cast<std::int64_t>(load.sales));
  const std::int64_t amount = std::max(kPairMin, useful);
  const double at_work = std::min(static_cast<double>(amount), load.sales);
  const double recorded_s = load.winners * load.sales / (rows * at_work);
  return {.name = "workers",
          .label = "workers (weir worker)",
          .amount = amount,
          .unit = "processes",
          .why = fmt::format("{} rows a second are promised; the last row is there after {:.1f} s; one may die",
                             grouped(whole(load.winners_per_s)), std::max(load.within_s, recorded_s)),
          .figures = {FigureId::worker_rows_per_s},
          .margin = kRowMargin};
}

Need worker_cores(const Load& load) {
  const double busy = winner_cores(load, FigureId::worker_winner_us);
  return {.name = "workerCores",
          .label = "cores for workers",
          .amount = std::max<std::int64_t>(1, whole(busy * kRowMargin)),
          .unit = "cores",
          .why = fmt::format("recording keeps {:.2f} busy while it keeps up", busy),
          .figures = {FigureId::worker_winner_us},
          .margin = kRowMargin};
}

Need partitions(const Load& load, const Need& workers) {
  const std::int64_t sales = static_cast<std::int64_t>(load.sales);
  return {.name = "partitions",
          .label = "partitions of the topic",
          .amount = 2 * std::max(workers.amount, sales),
          .unit = "partitions",
          .why = "an item is one partition: two for each worker or sale, so that few items share one",
          .figures = {},
          .margin = 2};
}

Need broker_cores(const Load& load) {
  const double busy = winner_cores(load, FigureId::kafka_winner_us);
  return {.name = "brokerCores",
          .label = "cores for leaders of Kafka",
          .amount = std::max<std::int64_t>(1, whole(busy * kCoreMargin)),
          .unit = "cores",
          .why = fmt::format("claims keep {:.2f} busy; three brokers, the two followers come on top", busy),
          .figures = {FigureId::kafka_winner_us},
          .margin = kCoreMargin};
}

Need ledger_cores(const Load& load) {
  const double busy = winner_cores(load, FigureId::postgres_winner_us);
  return {.name = "postgresCores",
          .label = "cores for PostgreSQL",
          .amount = std::max<std::int64_t>(1, whole(busy * kRowMargin)),
          .unit = "cores",
          .why = fmt::format("{} rows a second keep {:.2f} busy", grouped(whole(load.winners_per_s)), busy),
          .figures = {FigureId::postgres_winner_us},
          .margin = kRowMargin};
}

Need ledger_connections(const Need& nodes, const Need& workers) {
  return {.name = "postgresConnections",
          .label = "connections to PostgreSQL",
          .amount = nodes.amount * kLedgerConnectionsOfNode + workers.amount * kLedgerConnectionsOfWorker +
                    kLedgerConnectionsOfPeople,
          .unit = "connections",
          .why = fmt::format("{} a node, {} a worker, {} for people and tools (max_connections)",
                             kLedgerConnectionsOfNode, kLedgerConnectionsOfWorker, kLedgerConnectionsOfPeople),
          .figures = {},
          .margin = 1};
}

Need bandwidth(const Load& load, FigureId bytes, std::string_view name, std::string_view label) {
  const double bits = load.requests * (value(bytes) + kPacketBytes) * 8;
  return {.name = name,
          .label = label,
          .amount = whole(bits * kNetMargin / 1e6),
          .unit = "Mbit/s",
          .why = fmt::format("{:.0f} bytes and the headers of two packets for each request", value(bytes)),
          .figures = {bytes},
          .margin = kNetMargin};
}

/// What more machines cannot help with: one slot is one thread.
void find_obstacles(const Load& load, Capacity& capacity) {
  const Need* const busiest = capacity.find("slotPercent");
  CHECK(busiest != nullptr);
  if (busiest->amount <= 100) return;
  const auto pieces = (busiest->amount + 99) / 100;
  const double seconds = load.within_s * static_cast<double>(busiest->amount) / 100;
  capacity.obstacles.push_back(fmt::format(
      "one sale's scripts run on one thread of Redis, which would be busy for {} % of the time with its margin: allow "
      "{:.1f} s (--within), or sell the units as {} sales with {} each",
      busiest->amount, std::ceil(seconds * 10) / 10, pieces, grouped((capacity.order.units + pieces - 1) / pieces)));
}

Parsed<std::int64_t> check_range(std::string_view flag, std::int64_t number, std::int64_t most) {
  if (number >= 1 && number <= most) return number;
  return std::unexpected(fmt::format("{} is {}: it must be from 1 to {} ({})", flag.substr(2), number, most, flag));
}

Parsed<void> check_order(const CapacityOrder& order) {
  const std::pair<std::string_view, std::pair<std::int64_t, std::int64_t>> bounds[] = {
      {"--buyers", {order.buyers, kPlanBuyersMax}},
      {"--units", {order.units, kUnitsPerItemMax}},
      {"--sales", {order.sales, kPlanSalesMax}},
      {"--cores-per-node", {order.cores_per_node, kPlanCoresMax}}};
  for (const auto& [flag, bound] : bounds) {
    if (const auto fit = check_range(flag, bound.first, bound.second); !fit) return std::unexpected(fit.error());
  }
  if (order.within >= kPlanWithinMin && order.within <= kPlanWithinMax) return {};
  return std::unexpected(fmt::format("within is {}: it must be from {} to {} (--within)", duration_text(order.within),
                                     duration_text(kPlanWithinMin), duration_text(kPlanWithinMax)));
}

/// The figures that the plan rests on, each once, in the order of the table.
std::vector<FigureId> figures_of(const Capacity& capacity) {
  std::vector<FigureId> used;
  for (const Figure& one : kFigures) {
    const bool is_used = std::ranges::any_of(capacity.needs, [&](const Need& need) {
      return std::ranges::find(need.figures, one.id) != need.figures.end();
    });
    if (is_used) used.push_back(one.id);
  }
  return used;
}

std::string names_of(const std::vector<FigureId>& figures) {
  std::vector<std::string_view> names;
  for (const FigureId id : figures) names.push_back(figure(id).name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string need_json(const Need& need) {
  std::vector<std::string> figures;
  for (const FigureId id : need.figures) figures.push_back(quoted(figure(id).name));
  return fmt::format(R"({{"need":{},"amount":{},"unit":{},"why":{},"figures":[{}],"margin":{:.2f}}})",
                     quoted(need.name), need.amount, quoted(need.unit), quoted(need.why), fmt::join(figures, ","),
                     need.margin);
}

std::string figure_json(const Figure& one) {
  return fmt::format(R"({{"figure":{},"value":{:.2f},"what":{},"command":{},"date":{},"machine":{}}})",
                     quoted(one.name), one.value, quoted(one.what), quoted(one.command), quoted(one.date),
                     quoted(one.machine));
}

}  // namespace

const Need* Capacity::find(std::string_view wanted) const {
  const auto found = std::ranges::find(needs, wanted, &Need::name);
  return found == needs.end() ? nullptr : &*found;
}

Parsed<Capacity> plan_capacity(const CapacityOrder& order) {
  if (const auto fit = check_order(order); !fit) return std::unexpected(fit.error());
  const Load load{order};
  Capacity capacity;
  capacity.order = order;
  capacity.requests_per_s = whole(load.requests);
  const Need cores = node_cores(load);
  const Need of_buyers = connections(load);
  const Need doors = nodes(load, order, cores, of_buyers);
  const Need recorders = workers(load);
  capacity.needs = {cores,
                    of_buyers,
                    doors,
                    slot(load),
                    shards(load),
                    partitions(load, recorders),
                    broker_cores(load),
                    recorders,
                    worker_cores(load),
                    ledger_cores(load),
                    ledger_connections(doors, recorders),
                    bandwidth(load, FigureId::request_bytes, "mbitPerSIn", "bandwidth in"),
                    bandwidth(load, FigureId::answer_bytes, "mbitPerSOut", "bandwidth out")};
  find_obstacles(load, capacity);
  return capacity;
}

std::string capacity_text(const Capacity& capacity) {
  const CapacityOrder& order = capacity.order;
  std::string out = fmt::format("{} sale{} of {} units, {} buyers each, within {}: {} requests a second\n\n",
                                grouped(order.sales), order.sales == 1 ? "" : "s", grouped(order.units),
                                grouped(order.buyers), duration_text(order.within), grouped(capacity.requests_per_s));
  const auto to = std::back_inserter(out);
  for (const Need& need : capacity.needs) {
    fmt::format_to(to, "{:<28}{:>14} {}\n", need.label, grouped(need.amount), need.unit);
    fmt::format_to(to, "    {}\n", need.why);
    if (!need.figures.empty()) fmt::format_to(to, "    from {}; margin {:.2f}\n", names_of(need.figures), need.margin);
  }
  for (const std::string& obstacle : capacity.obstacles) fmt::format_to(to, "\nDoes not fit: {}\n", obstacle);
  fmt::format_to(to, "\nThe figures\n");
  for (const FigureId id : figures_of(capacity)) {
    const Figure& one = figure(id);
    fmt::format_to(to, "{:<20}{:>10.2f}  {} ({}, {})\n", one.name, one.value, one.what, one.command, one.date);
  }
  fmt::format_to(to, "Machine: {}\n", kBenchMachine);
  return out;
}

std::string capacity_json(const Capacity& capacity) {
  const CapacityOrder& order = capacity.order;
  std::vector<std::string> needs;
  for (const Need& need : capacity.needs) needs.push_back(need_json(need));
  std::vector<std::string> obstacles;
  for (const std::string& obstacle : capacity.obstacles) obstacles.push_back(quoted(obstacle));
  std::vector<std::string> figures;
  for (const FigureId id : figures_of(capacity)) figures.push_back(figure_json(figure(id)));
  return fmt::format(R"({{"fits":{},"buyers":{},"units":{},"withinMs":{},"sales":{},"coresPerNode":{},)"
                     R"("requestsPerSecond":{},"needs":[{}],"obstacles":[{}],"figures":[{}]}})",
                     capacity.fits(), order.buyers, order.units, order.within.count() / 1000, order.sales,
                     order.cores_per_node, capacity.requests_per_s, fmt::join(needs, ","), fmt::join(obstacles, ","),
                     fmt::join(figures, ","));
}

}  // namespace weir
