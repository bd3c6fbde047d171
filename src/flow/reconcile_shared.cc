#include "flow/reconcile_shared.h"

#include "flow/lease.h"
#include "flow/log_end.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace weir {
namespace {

constexpr Micros kListWait{30'000'000};  // For one list of a gate's holds.

std::uint64_t hash_of(std::string_view buyer) { return std::hash<std::string_view>{}(buyer); }

std::unexpected<Error> failed(const GateError& error) {
  return fail(failure_of(error.trouble),
              fmt::format("its gate does not answer: {} ({})", name(error.trouble), error.message));
}

Hold hold_of(const LiveHold& live, SaleNo sale) {
  return {.order = live.hold,
          .sale = sale,
          .item = live.item,
          .units = live.units,
          .buyer_key = {},
          .sold = live.sold,
          .recorded = true,
          .buyer = BuyerName::from(live.buyer).value_or(BuyerName{})};
}

Mismatch mismatch_of(Disagreement what, const Hold& hold, std::string detail) {
  Mismatch finding;
  finding.what = what;
  finding.hold = hold;
  finding.detail = std::move(detail);
  return finding;
}

Hold of_item(SaleNo sale, ItemNo item) {
  Hold hold;
  hold.sale = sale;
  hold.item = item;
  return hold;
}

/// A message that still lies in the log, or is on its way there, would explain these.
bool may_be_in_log(Disagreement what) { return what == Disagreement::gate_only || what == Disagreement::undriven; }

}  // namespace

Result<Findings> ReconcileShared::step(Ticks now, bool dry_run) {
  auto look = begin(now);
  if (!look) return std::unexpected(look.error());
  for (const Sale& sale : look->catalog->sales()) look_at_sale(sale, *look);
  look_at_dead_letters(*look);
  judge(*look);
  if (!dry_run) repair(*look);
  return std::move(look->findings);
}

Result<ReconcileShared::Look> ReconcileShared::begin(Ticks now) {
  Look look;
  look.now = now;
  auto catalog = parts_.reader.catalog();
  if (!catalog) return std::unexpected(catalog.error());
  look.catalog = std::make_shared<const Catalog>(*std::move(catalog));
  const auto states = parts_.ledger.gate_states(soon());
  if (!states) return std::unexpected(states.error());
  for (const GateState& state : *states) look.states.emplace(state.sale, state);
  auto ends = parts_.ask_log_end(clock_.ticks() + Micros{kPublishDeadlineUs});  // It may have to connect.
  if (ends) {
    look.log_end = std::make_shared<const LogRanges>(*std::move(ends));
  } else {
    look.findings.not_compared.push_back("log: " + ends.error().message);
  }
  return look;
}

void ReconcileShared::look_at_sale(const Sale& sale, Look& look) {
  const auto state = look.states.find(sale.no);
  const auto leave_out = [&](std::string_view why) {
    look.findings.not_compared.push_back(fmt::format("sale {}: {}", sale.id, why));
  };
  if (state == look.states.end()) {
    if (!sale.closed) leave_out("it has no gate yet");
    return;
  }
  if (state->second.phase != GatePhase::open) return leave_out("its gate is being built");
  if (!attach_at(parts_.gate, state->second, *look.catalog)) return leave_out("its gate cannot be asked");
  const auto compared = compare_sale(sale, state->second, look);
  parts_.gate.detach(sale.no);
  if (!compared) leave_out(compared.error().message);
}

Result<void> ReconcileShared::compare_sale(const Sale& sale, const GateState& state, Look& look) {
  std::vector<Mismatch> seen;
  auto view = view_of(sale, look);
  if (!view) return std::unexpected(view.error());
  compare_counts(sale, *view, *look.catalog, seen);
  // Each of these asks for what is younger than what the one before has seen.
  if (const auto done = compare_live(sale, *view, look, seen); !done) return done;
  if (const auto done = compare_outbox(sale, seen); !done) return done;
  if (const auto done = compare_others(sale, *view, seen); !done) return done;
  if (const auto done = compare_in_flight(sale, seen); !done) return done;
  for (Mismatch& finding : seen) {
    finding.detail = fmt::format("sale {}, epoch {}: {}", sale.id, state.epoch, finding.detail);
  }
  std::ranges::move(seen, std::back_inserter(look.seen));
  return {};
}

Result<std::vector<Shelf>> ReconcileShared::shelves_of(SaleNo sale, std::span<const ItemNo> items) {
  std::vector<Shelf> shelves(items.size());
  for (std::size_t first = 0; first < items.size(); first += kGateBatchMax) {
    const std::size_t count = std::min(kGateBatchMax, items.size() - first);
    const auto asked =
        parts_.gate.shelves(sale, items.subspan(first, count), std::span{shelves}.subspan(first, count), soon());
    if (!asked) return failed(asked.error());
  }
  return shelves;
}

Result<ReconcileShared::View> ReconcileShared::view_of(const Sale& sale, const Look& look) {
  View view;
  for (const Item& item : look.catalog->items()) {
    if (item.sale == sale.no) view.items.push_back(item.no);
  }
  auto before = shelves_of(sale.no, view.items);
  if (!before) return std::unexpected(before.error());
  view.before = *std::move(before);
  const auto listed = parts_.gate.each_hold(
      [&view](const Hold& hold) {
        view.holds[hold.order] = {.item = hold.item,
                                  .units = hold.units,
                                  .buyer = hash_of(hold.buyer.view()),
                                  .sold = hold.sold,
                                  .recorded = hold.recorded,
                                  .is_live = false};
        Sums& sums = view.sums[hold.item];
        (hold.sold ? sums.sold : sums.held) += hold.units;
      },
      clock_.ticks() + kListWait);
  if (!listed) return std::unexpected(listed.error());
  auto after = shelves_of(sale.no, view.items);
  if (!after) return std::unexpected(after.error());
  view.after = *std::move(after);
  return view;
}

/// Counts that changed while the holds were listed are judged at the next step.
void ReconcileShared::compare_counts(const Sale& sale, const View& view, const Catalog& catalog,
                                     std::vector<Mismatch>& seen) const {
  for (std::size_t i = 0; i < view.items.size(); ++i) {
    const Shelf& shelf = view.after[i];
    if (shelf.version != view.before[i].version) continue;
    const auto found = view.sums.find(view.items[i]);
    const Sums sums = found == view.sums.end() ? Sums{} : found->second;
    const Item* const item = catalog.item(view.items[i]);
    if (sums.held != shelf.held || sums.sold != shelf.sold) {
      seen.push_back(mismatch_of(Disagreement::counts, of_item(sale.no, view.items[i]),
                                 fmt::format("the gate counts {} held and {} sold of item {}, its holds are {} and {}",
                                             shelf.held, shelf.sold, item->id, sums.held, sums.sold)));
    }
    if (item->total != shelf.total) {
      Mismatch finding = mismatch_of(
          Disagreement::total, of_item(sale.no, view.items[i]),
          fmt::format("item {} has {} units in the gate and {} in the ledger", item->id, shelf.total, item->total));
      finding.number = static_cast<std::uint64_t>(shelf.total);
      seen.push_back(std::move(finding));
    }
  }
}

Result<void> ReconcileShared::compare_live(const Sale& sale, View& view, Look& look, std::vector<Mismatch>& seen) {
  std::vector<LiveHold> absent;
  const auto read = parts_.ledger.live_holds(sale.no, [&](const LiveHold& live) {
    ++look.findings.compared;
    const auto found = view.holds.find(live.hold);
    if (found == view.holds.end()) return absent.push_back(live);
    Held& held = found->second;
    held.is_live = true;
    if (held.item == live.item && held.units == live.units && held.buyer == hash_of(live.buyer)) return;
    seen.push_back(mismatch_of(Disagreement::contents, hold_of(live, sale.no),
                               fmt::format("the gate holds {} units of item number {}, the ledger {} of {} for {}",
                                           held.units, held.item.value, live.units, live.item.value, live.buyer)));
  });
  if (!read) return read;
  // Most were taken after the holds were listed. So many can be asked for now, the others at the next step.
  if (absent.size() > kOutboxBatchMax) {
    look.findings.waiting += absent.size() - kOutboxBatchMax;
    absent.resize(kOutboxBatchMax);
  }
  return look_for_absent(absent, sale, look, seen);
}

/// Live before the gate was asked and live after it: at that moment it was live, and had to be there.
Result<void> ReconcileShared::look_for_absent(std::span<const LiveHold> absent, const Sale& sale, Look& look,
                                              std::vector<Mismatch>& seen) {
  std::vector<const LiveHold*> missing;
  std::vector<OrderId> ids;
  for (const LiveHold& live : absent) {
    const auto held = parts_.gate.find_hold(sale.no, live.hold, soon());
    if (!held) return failed(held.error());
    if (*held) continue;
    missing.push_back(&live);
    ids.push_back(live.hold);
  }
  const auto standings = standings_of(ids);
  if (!standings) return std::unexpected(standings.error());
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if ((*standings)[i] != HoldStanding::live) continue;
    const Item* const item = look.catalog->item(missing[i]->item);
    seen.push_back(mismatch_of(
        Disagreement::ledger_only, hold_of(*missing[i], sale.no),
        fmt::format("order {} of {} lives in the ledger with {} units of item {}, the gate does "
                    "not hold them",
                    missing[i]->order.text(), missing[i]->buyer, missing[i]->units, item == nullptr ? "?" : item->id)));
  }
  return {};
}

Result<void> ReconcileShared::compare_outbox(const Sale& sale, std::vector<Mismatch>& seen) {
  const auto due = parts_.ledger.releases(sale.no, kOutboxBatchMax, soon());
  if (!due) return std::unexpected(due.error());
  for (const Release& release : *due) {
    Hold hold;
    hold.order = release.hold;
    hold.sale = sale.no;
    Mismatch finding = mismatch_of(Disagreement::outbox, hold,
                                   fmt::format("release {} of an ended hold waits in the ledger", release.id));
    finding.number = release.id;
    seen.push_back(std::move(finding));
  }
  return {};
}

/// What the gate holds and the ledger does not call live.
Result<void> ReconcileShared::compare_others(const Sale& sale, const View& view, std::vector<Mismatch>& seen) {
  std::vector<OrderId> ids;
  for (const auto& [id, held] : view.holds) {
    if (!held.is_live) ids.push_back(id);
  }
  std::ranges::sort(ids);
  const auto standings = standings_of(ids);
  if (!standings) return std::unexpected(standings.error());
  std::unordered_map<OrderId, bool> is_due;
  for (const Mismatch& finding : seen) {
    if (finding.what == Disagreement::outbox) is_due[finding.hold.order] = true;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Held& held = view.holds.at(ids[i]);
    const HoldStanding standing = (*standings)[i];
    const bool is_lost = standing == HoldStanding::ended && !is_due.contains(ids[i]);
    const bool is_foreign = standing == HoldStanding::unknown && held.recorded;
    if (!is_lost && !is_foreign) continue;
    Hold hold = of_item(sale.no, held.item);
    hold.order = ids[i];
    hold.units = held.units;
    seen.push_back(is_lost ? mismatch_of(Disagreement::unreleased, hold,
                                         fmt::format("the gate holds {} units of {}, which has ended and whose release "
                                                     "is not in the outbox",
                                                     hold.units, ids[i].text()))
                           : mismatch_of(Disagreement::gate_only, hold,
                                         fmt::format("the gate holds {} units of {}, which the ledger has never heard "
                                                     "of and which is not in flight",
                                                     hold.units, ids[i].text())));
  }
  return {};
}

Result<void> ReconcileShared::compare_in_flight(const Sale& sale, std::vector<Mismatch>& seen) {
  const auto old = parts_.gate.in_flight(sale.no, kReconcileGrace, kGateBatchMax, soon());
  if (!old) return failed(old.error());
  std::vector<OrderId> ids;
  for (const InFlight& one : *old) ids.push_back(one.hold.claim.order);
  const auto standings = standings_of(ids);
  if (!standings) return std::unexpected(standings.error());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const SharedHold& held = (*old)[i].hold;
    Hold hold = of_item(sale.no, held.claim.item);
    hold.order = ids[i];
    hold.units = held.claim.units;
    const std::int64_t seconds = (*old)[i].age.count() / 1'000'000;
    if ((*standings)[i] == HoldStanding::live) {
      seen.push_back(
          mismatch_of(Disagreement::unconfirmed, hold,
                      fmt::format("{} is recorded and counts as in flight for {} s", ids[i].text(), seconds)));
    }
    // Late money and withdrawals have owners of their own.
    if ((*standings)[i] == HoldStanding::unknown && held.kind == HoldKind::claim) {
      seen.push_back(mismatch_of(Disagreement::undriven, hold,
                                 fmt::format("{} was taken {} s ago and is not recorded", ids[i].text(), seconds)));
    }
  }
  return {};
}

void ReconcileShared::look_at_dead_letters(Look& look) {
  const auto parked = parts_.ledger.parked(kDeadLettersMax, soon());
  if (!parked) {
    look.findings.not_compared.push_back("dead letters: " + parked.error().message);
    return;
  }
  for (const ParkedMessage& message : *parked) {
    Mismatch finding = mismatch_of(Disagreement::dead_letter, Hold{},
                                   fmt::format("partition {} offset {} of topic {}: {}", message.partition,
                                               message.offset, message.topic_id, message.problem));
    finding.hold.order = {static_cast<std::uint64_t>(message.partition), static_cast<std::uint64_t>(message.offset)};
    look.seen.push_back(std::move(finding));
  }
}

Result<std::vector<HoldStanding>> ReconcileShared::standings_of(std::span<const OrderId> holds) {
  std::vector<HoldStanding> standings(holds.size(), HoldStanding::unknown);
  for (std::size_t first = 0; first < holds.size(); first += kOutboxBatchMax) {
    const std::size_t count = std::min(kOutboxBatchMax, holds.size() - first);
    const auto looked =
        parts_.ledger.look_up_holds(holds.subspan(first, count), std::span{standings}.subspan(first, count), soon());
    if (!looked) return std::unexpected(looked.error());
  }
  return standings;
}

bool ReconcileShared::is_recorded_beyond(const LogRanges& ends) {
  const auto marks = parts_.ledger.log_marks(ends.topic_id, soon());
  return marks && is_read_up_to(ends, *marks);
}

bool ReconcileShared::is_ripe(Disagreement what, const Sighting& sighting, const Look& look) const {
  if (look.now - sighting.since < kReconcileGrace) return false;
  return !may_be_in_log(what) || sighting.log_end != nullptr;
}

/// Keeps what was seen twice, long enough apart. What is not seen any more is forgotten.
void ReconcileShared::judge(Look& look) {
  std::map<Key, Sighting> still;
  std::map<std::shared_ptr<const LogRanges>, bool> beyond;
  for (Mismatch& finding : look.seen) {
    const Hold& hold = finding.hold;
    const bool is_row = finding.what == Disagreement::outbox;
    const Key key{finding.what, hold.sale, hold.item, hold.order, is_row ? finding.number : 0};
    const auto state = look.states.find(hold.sale);
    const std::int64_t epoch = state == look.states.end() ? 0 : state->second.epoch;
    const auto before = sightings_.find(key);
    const bool is_known = before != sightings_.end() && before->second.epoch == epoch &&
                          (!may_be_in_log(finding.what) || before->second.log_end != nullptr);
    const Sighting sighting = is_known ? before->second : Sighting{look.now, epoch, look.log_end};
    still.emplace(key, sighting);
    bool is_certain = is_ripe(finding.what, sighting, look);
    if (is_certain && may_be_in_log(finding.what)) {
      const auto [asked, is_new] = beyond.try_emplace(sighting.log_end, false);
      if (is_new) asked->second = is_recorded_beyond(*sighting.log_end);
      is_certain = asked->second;
    }
    if (is_certain) {
      list(std::move(finding), look);
    } else {
      ++look.findings.waiting;
      look.findings.waiting_since = std::max(look.findings.waiting_since, look.now - sighting.since);
    }
  }
  sightings_ = std::move(still);
}

void ReconcileShared::list(Mismatch finding, Look& look) {
  Findings& findings = look.findings;
  switch (finding.what) {
    case Disagreement::gate_only:
    case Disagreement::unreleased: findings.gate_only.push_back(finding.hold); break;
    case Disagreement::ledger_only: findings.ledger_only.push_back(finding.hold); break;
    case Disagreement::total:
      findings.totals.push_back({.item = finding.hold.item,
                                 .gate_total = static_cast<std::int64_t>(finding.number),
                                 .ledger_total = look.catalog->item(finding.hold.item)->total});
      break;
    case Disagreement::unconfirmed:
    case Disagreement::undriven:
    case Disagreement::outbox:
    case Disagreement::contents:
    case Disagreement::counts:
    case Disagreement::dead_letter: break;
  }
  findings.shared.push_back(std::move(finding));
}

}  // namespace weir
