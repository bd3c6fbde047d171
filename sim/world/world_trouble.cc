#include "sim/world/world.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

namespace weir::sim {
namespace {

struct Point {
  std::string_view name;
  Trouble kind;
};
constexpr std::array kPoints{Point{"gate_taken", Trouble::killed_at_gate_taken},
                             Point{"queue_appended", Trouble::killed_at_queue_appended},
                             Point{"before_record", Trouble::killed_at_before_record},
                             Point{"after_record", Trouble::killed_at_after_record},
                             Point{"before_settle", Trouble::killed_at_before_settle},
                             Point{"settled_one", Trouble::killed_at_settled_one},
                             Point{"after_settle", Trouble::killed_at_after_settle},
                             Point{"before_expire", Trouble::killed_at_before_expire},
                             Point{"after_expire", Trouble::killed_at_after_expire},
                             Point{"before_commit", Trouble::killed_at_before_commit},
                             Point{"after_commit", Trouble::killed_at_after_commit}};

}  // namespace

void World::plan_trouble() {
  const std::int64_t mean = swarm_.trouble_every.count();
  at(chance_.span(mean / 4, mean * 7 / 4), [this] {
    if (is_healed_) return;
    make_trouble();
    plan_trouble();
  });
}

void World::make_trouble() {
  const std::array<std::pair<std::int64_t, std::function<void()>>, 13> kinds{{
      {swarm_.kills,
       [this] {
         count(Trouble::killed_between_steps);
         throw Death{};
       }},
      {swarm_.kills_at_points, [this] { kill_at_point(); }},
      {swarm_.power_cuts,
       [this] {
         if (chance_.one_in(2)) {
           armed_point_ = chance_.pick<Point>(kPoints).name;
           armed_left_ = static_cast<std::uint64_t>(chance_.between(1, 3));
           armed_kind_ = Trouble::power_cut_inside_a_step;
           return;
         }
         count(Trouble::power_cut_between_steps);
         throw Death{true};
       }},
      {swarm_.storms,
       [this] {
         storm_left_ = chance_.between(2, 5);
         throw Death{};
       }},
      {swarm_.orderly, [this] { restart_in_order(); }},
      {swarm_.disk_faults, [this] { fail_disk(); }},
      {swarm_.full_disks, [this] { fill_disk(); }},
      {swarm_.strangers, [this] { let_stranger_in(); }},
      {swarm_.pauses,
       [this] {
         const Micros pause = chance_.span(100'000, 9'000'000);
         if (chance_.one_in(2)) {
           slow_next_ = pause;
           return;
         }
         count(Trouble::process_paused);
         trace_.note(clock_.ticks(), "everything stands still for {} ms", pause.count() / 1000);
         disturbed_at_ = clock_.ticks() + pause;
         clock_.pass(pause);
       }},
      {swarm_.organiser, [this] { organise(); }},
      {swarm_.closings,
       [this] {
         count(Trouble::sale_closed);
         is_closed_ = true;
         change_sale(SaleAction::close);
       }},
      {swarm_.refunds, [this] { refund_somebody(); }},
      {swarm_.reconciles,
       [this] {
         count(Trouble::reconciled_during_load);
         static_cast<void>(engine_->reconcile(false, [](const Result<Findings>&) {}));
         wake_all();
       }},
  }};
  std::int64_t sum = 0;
  for (const auto& [weight, act] : kinds) sum += weight;
  if (sum == 0 || !is_up()) return;
  std::int64_t ticket = chance_.between(1, sum);
  for (const auto& [weight, act] : kinds) {
    ticket -= weight;
    if (ticket <= 0) return act();
  }
}

void World::kill_at_point() {
  const Point& point = chance_.pick<Point>(kPoints);
  armed_point_ = point.name;
  armed_left_ = static_cast<std::uint64_t>(chance_.between(1, 4));
  armed_kind_ = point.kind;
}

void World::fail_disk() {
  disturbed_at_ = clock_.ticks();
  const auto n = static_cast<std::uint64_t>(chance_.between(1, 12));
  switch (chance_.between(0, 4)) {
    case 0:
      count(Trouble::write_failed);
      disk_.fail_nth_write(n);
      break;
    case 1:
      count(Trouble::write_found_no_room);
      disk_.fail_nth_write(n, FaultDisk::WriteFault::full);
      break;
    case 2:
      count(Trouble::sync_failed);
      disk_.fail_nth_sync((n + 3) / 4);
      break;
    case 3:
      count(Trouble::open_failed);
      disk_.fail_nth_open(1);
      break;
    default:
      count(Trouble::read_failed);
      disk_.fail_nth_read(n);
      break;
  }
  trace_.note(clock_.ticks(), "the disk will fail");
}

void World::fill_disk() {
  count(Trouble::disk_full);
  disk_.set_capacity(INT64_MAX - 1);
  const std::int64_t taken = INT64_MAX - 1 - disk_.free_bytes();
  disk_.set_capacity(taken + chance_.between(0, 40'000));
  trace_.note(clock_.ticks(), "the disk is nearly full");
  at(chance_.span(500'000, 8'000'000), [this] {
    count(Trouble::disk_freed);
    disk_.set_capacity(INT64_MAX);
    disturbed_at_ = clock_.ticks();
  });
}

/// Another program of the machine opens the ledger's file.
void World::let_stranger_in() {
  if (stranger_ != nullptr) return;
  const std::string path = place_.data + "/ledger.db";
  if (sqlite3_open_v2(path.c_str(), &stranger_, SQLITE_OPEN_READWRITE, disk_.vfs_name().c_str()) != SQLITE_OK) {
    return let_stranger_go();
  }
  const bool locks = chance_.one_in(2);
  count(locks ? Trouble::ledger_locked_by_another : Trouble::log_read_by_another);
  trace_.note(clock_.ticks(), "a stranger {} the ledger", locks ? "locks" : "reads");
  const char* sql = locks ? "BEGIN IMMEDIATE" : "BEGIN; SELECT count(*) FROM flash_sale_meta";
  static_cast<void>(sqlite3_exec(stranger_, sql, nullptr, nullptr, nullptr));
  at(chance_.span(200'000, 6'000'000), [this] { let_stranger_go(); });
}

void World::let_stranger_go() {
  disturbed_at_ = clock_.ticks();
  sqlite3_close_v2(std::exchange(stranger_, nullptr));
}

void World::organise() {
  const auto item = static_cast<std::size_t>(chance_.between(0, static_cast<std::int64_t>(items_.size()) - 1));
  switch (chance_.between(first_numbers_[item] ? 2 : 0, 3)) {  // Numbers are fixed.
    case 0:
      count(Trouble::stock_raised);
      return change_stock(item, chance_.between(1, 5), fmt::format("change{}", ++keys_));
    case 1:
      count(Trouble::stock_lowered);
      return change_stock(item, -chance_.between(1, 4), fmt::format("change{}", ++keys_));
    case 2:
      count(Trouble::sale_paused);
      is_pause_wanted_ = true;
      return change_sale(SaleAction::pause);
    default:
      count(Trouble::sale_resumed);
      is_pause_wanted_ = false;
      return change_sale(SaleAction::resume);
  }
}

/// Asks until there is an answer, always under the same key.
void World::change_stock(std::size_t item, std::int64_t delta, const std::string& key) {
  const auto again = [this, item, delta, key] {
    at(Micros{700'000}, [this, item, delta, key] { change_stock(item, delta, key); });
  };
  if (!is_up()) return again();
  disturbed_at_ = clock_.ticks();
  const auto is_heard = std::make_shared<bool>(false);
  http::ChangeRequest request;
  request.run = [item, delta, key](Ledger& ledger) {
    return ledger.change_stock("default", fmt::format("item{}", item), delta, key);
  };
  request.item = items_[item];
  request.withdraw = delta < 0 ? -delta : 0;
  // As the admin's route asks: a change that no total can bear meets the earlier change under a known key.
  request.was_made = [item, key](Ledger& ledger) {
    const auto seen = ledger.change_stock("default", fmt::format("item{}", item), INT64_MIN, key);
    return seen && seen->changed == Changed::exists;
  };
  request.done = [this, item, delta, key, again, is_heard](const Result<ChangeResult>& result) {
    *is_heard = true;
    disturbed_at_ = clock_.ticks();
    if (!result) {
      count(Trouble::change_unknown);
      return again();
    }
    trace_.note(clock_.ticks(), "stock of item {} by {}: {}", item, delta, static_cast<int>(result->changed));
    const bool is_made = result->changed == Changed::done || result->changed == Changed::repeated;
    if (is_made && changes_made_.insert(key).second) totals_[item] += delta;
    if (result->changed == Changed::below_committed) count(Trouble::stock_change_refused);
  };
  if (!is_healed_ && chance_.hits(4 * swarm_.disk_faults)) disk_.fail_nth_sync(1);
  if (!engine_->change(std::move(request))) return again();
  wake_all();
  at(Micros{4'000'000}, [is_heard, again] {
    if (!std::exchange(*is_heard, true)) again();
  });
}

void World::change_sale(SaleAction action) {
  if (!is_up()) {
    return at(Micros{700'000}, [this, action] { change_sale(action); });
  }
  http::ChangeRequest request;
  request.run = [action](Ledger& ledger) { return ledger.change_sale("default", "drop", action); };
  request.done = [this, action](const Result<ChangeResult>& result) {
    trace_.note(clock_.ticks(), "action {}: {}", static_cast<int>(action),
                result ? static_cast<int>(result->changed) : -1);
  };
  static_cast<void>(engine_->change(std::move(request)));
  wake_all();
}

void World::refund_somebody() {
  std::vector<OrderId> paid;
  const auto read = spy_->live_orders([&](const Ended& live, bool sold) {
    if (sold) paid.push_back(live.order);
  });
  if (!read || paid.empty()) return;
  const OrderId order = chance_.pick<OrderId>(paid);
  const auto found = spy_->order(order);
  if (!found || !*found || (*found)->status != OrderStatus::paid) return;
  count(Trouble::order_refunded);
  refunds_asked_.insert(order);
  RefundOrder command{.tenant = {1},
                      .order = order,
                      .refund = RefundId::random(chance_.source()),
                      .amount = std::nullopt,
                      .restock = chance_.one_in(2),
                      .reason = "asked",
                      .key = std::nullopt};
  if (chance_.one_in(3) && (*found)->amount.value > 1) command.amount = (*found)->amount.value / 2;
  trace_.note(clock_.ticks(), "order {} is to be refunded", order.text().substr(0, 8));
  static_cast<void>(engine_->settle({command, [this](const Result<Settlement>& settled) {
                                       if (settled && settled->settled == Settled::done) is_refund_hurried_ = true;
                                     }}));
  wake_all();
}

void World::heal() {
  trace_.note(clock_.ticks(), "everything is well again");
  is_healed_ = true;
  network_.heal();
  disk_.heal();
  disk_.set_capacity(INT64_MAX);
  let_stranger_go();
  armed_point_.clear();
  slow_next_ = Micros{0};
  storm_left_ = 0;
  disturbed_at_ = clock_.ticks();
  if (!is_closed_) {
    is_pause_wanted_ = false;
    at(Micros{5'000'000}, [this] { change_sale(SaleAction::resume); });
  }
}

}  // namespace weir::sim
