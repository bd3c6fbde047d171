#include "auditor/auditor.h"

#include "auditor/crowd_history.h"
#include "auditor/lawful_history.h"
#include "auditor/steps.h"

#include <cstdio>
#include <functional>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace weir::auditor {
namespace {

using History = std::vector<Event>;

LawfulOptions busy(std::uint64_t seed) {
  LawfulOptions options = plain();
  options.seed = seed;
  options.terms.total_units = 40;
  options.terms.opens_us = 200'000;
  options.terms.closes_us = 3'600'000;
  options.terms.pay_within_us = 700'000;
  options.keyed = 500;
  options.doubts = 60;
  options.cancels = 250;
  options.payments = 400;
  return options;
}

TEST(Auditor, LawfulSalesAreNotAccused) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const LawfulOptions options = busy(seed);
    const Report report = audit(lawful_history(options), options.terms);
    ASSERT_TRUE(report.is_clean()) << "seed " << seed << ": " << first_of(report);
  }
}

TEST(Auditor, LawfulSalesWithoutReturnsAreNotAccused) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    LawfulOptions options = plain();
    options.seed = seed;
    options.payments = seed % 2 == 0 ? 1'000 : 0;
    options.doubts = seed % 3 == 0 ? 100 : 0;
    const Report report = audit(lawful_history(options), options.terms);
    ASSERT_TRUE(report.is_clean()) << "seed " << seed << ": " << first_of(report);
  }
}

TEST(Auditor, LawfulNumberedSalesWithLimitsAboveOneAreNotAccused) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    LawfulOptions options = busy(seed);
    options.is_numbered = true;
    options.units_max = 3;
    options.terms.limit_per_buyer = 4;
    options.repeats = 500;
    const Report report = audit(lawful_history(options), options.terms);
    ASSERT_TRUE(report.is_clean()) << "seed " << seed << ": " << first_of(report);
  }
}

// --- What looks wrong and is lawful.
// ----------------------------------------------------------------------------------

Event claim_at(std::uint64_t buyer, Answer answer, std::int64_t sent_us, std::int64_t answered_us) {
  Event event;
  event.buyer = buyer;
  event.answer = answer;
  event.planned_us = event.sent_us = sent_us;
  event.answered_us = answered_us;
  if (answer == Answer::accepted) event.order = {1, buyer};
  if (answer == Answer::sold_out) event.may_return = true;
  return event;
}

Terms one_unit() {
  Terms terms;
  terms.total_units = 1;
  return terms;
}

TEST(Auditor, RefusalThatOverlapsTheWinnersClaimIsLawful) {
  // The winner's answer came late; the unit was gone long before it.
  const History history{claim_at(1, Answer::accepted, 100, 900), claim_at(2, Answer::sold_out, 50, 100)};
  EXPECT_TRUE(audit(history, one_unit()).is_clean());
  const History too_early{claim_at(1, Answer::accepted, 100, 900), claim_at(2, Answer::sold_out, 50, 99)};
  EXPECT_EQ(audit(too_early, one_unit()).count(Rule::false_sold_out), 1U);
}

TEST(Auditor, LostAnswerMayHaveTakenTheUnit) {
  const History history{claim_at(1, Answer::uncertain, 100, 200), claim_at(2, Answer::sold_out, 300, 400)};
  EXPECT_TRUE(audit(history, one_unit()).is_clean());
  // And its owner may be told of an order that nobody has seen.
  History named = history;
  named.push_back(claim_at(1, Answer::already_purchased, 500, 600));
  named.back().order = {9, 9};
  EXPECT_TRUE(audit(named, one_unit()).is_clean());
}

TEST(Auditor, UnitThatCameBackCanBeSoldAgain) {
  History history{claim_at(1, Answer::accepted, 100, 200), claim_at(2, Answer::accepted, 450, 700)};
  EXPECT_EQ(audit(history, one_unit()).count(Rule::oversold), 1U);
  Event cancel = claim_at(1, Answer::accepted, 300, 400);
  cancel.kind = Kind::release;
  history.push_back(cancel);
  EXPECT_TRUE(audit(history, one_unit()).is_clean());
}

TEST(Auditor, SnapshotOfAllowedAgeIsLawful) {
  Terms terms = one_unit();
  terms.return_within_us = 0;
  Event cancel = claim_at(1, Answer::accepted, 1'000, 1'100);
  cancel.kind = Kind::release;
  const History history{claim_at(1, Answer::accepted, 100, 200), cancel, claim_at(2, Answer::sold_out, 1'200, 1'250)};
  EXPECT_EQ(audit(history, terms).count(Rule::false_sold_out), 1U);
  terms.snapshot_age_us = 200;
  EXPECT_TRUE(audit(history, terms).is_clean());
}

TEST(Auditor, FindingsOfOneRuleAreBoundedAndAllAreCounted) {
  History history;
  for (std::uint64_t buyer = 1; buyer <= 100; ++buyer) history.push_back(claim_at(buyer, Answer::sold_out, 10, 20));
  const Report report = audit(history, one_unit());
  EXPECT_EQ(report.count(Rule::false_sold_out), 100U);
  EXPECT_EQ(static_cast<std::size_t>(std::count_if(report.findings.begin(), report.findings.end(),
                                                   [](const Finding& f) { return f.rule == Rule::false_sold_out; })),
            kFindingsPerRuleMax);
}

TEST(Steps, ExtremesAreThoseOfAPlainScan) {
  SeededRandom random(11);
  for (int round = 0; round < 30; ++round) {
    Steps steps(Steps::Ties::rise_first);
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;
    for (std::uint64_t i = random.below(30); i > 0; --i) {
      const auto at = static_cast<std::int64_t>(random.below(40));
      const std::int64_t change = random.below(2) == 0 ? 1 : -1;
      steps.add(at, change);
      changes.emplace_back(at, change);
    }
    steps.build();
    std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    for (std::int64_t from = -1; from <= 41; ++from) {
      for (std::int64_t to = from; to <= 41; ++to) {
        std::int64_t sum = 0;
        for (const auto& [at, change] : changes) sum += at < from ? change : 0;
        std::int64_t high = sum;
        for (const auto& [at, change] : changes) {
          if (at >= from && at <= to) high = std::max(high, sum += change);
        }
        ASSERT_EQ(steps.max(from, to), high) << "round " << round << " from " << from << " to " << to;
      }
    }
  }
}

TEST(CrowdHistory, RecordsOfACrowdAreAuditedFromTheirFile) {
  crowd::History history;
  const auto note = [&](std::uint32_t buyer, crowd::Outcome outcome, std::uint32_t sent, std::uint64_t order) {
    crowd::Record record;
    record.buyer = buyer;
    record.outcome = outcome;
    record.planned_us = sent;
    record.sent_us = sent;
    record.answered_us = sent + 10;
    record.order = {0, order};
    record.may_return = outcome == crowd::Outcome::sold_out;
    history.records.push_back(record);
  };
  note(1, crowd::Outcome::accepted, 100, 5);
  note(2, crowd::Outcome::sold_out, 200, 0);
  note(3, crowd::Outcome::unavailable, 240, 0);
  note(4, crowd::Outcome::not_sent, 250, 0);
  const std::string path = testing::TempDir() + "weir_auditor_history";
  ASSERT_TRUE(crowd::write_history(path, history));
  const auto read = crowd::read_history(path);
  std::remove(path.c_str());
  ASSERT_TRUE(read);
  crowd::StockSample sample;
  sample.sent_us = 300;
  sample.answered_us = 310;
  sample.total = 1;
  sample.held = 1;
  const std::vector<Event> events = events_of(*read, std::span{&sample, 1});
  ASSERT_EQ(events.size(), 4U) << "what was never sent cannot have happened";
  EXPECT_TRUE(audit(events, one_unit()).is_clean());
  Terms two = one_unit();
  two.total_units = 2;
  EXPECT_EQ(audit(events, two).count(Rule::false_sold_out), 1U);
}

}  // namespace
}  // namespace weir::auditor
