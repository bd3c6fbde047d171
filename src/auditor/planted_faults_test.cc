#include "auditor/auditor.h"
#include "auditor/lawful_history.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::auditor {
namespace {

// Each planted fault takes a lawful history and spoils one thing in it.

using History = std::vector<Event>;

// ------------------------------------------

using Matches = std::function<bool(const Event&)>;

Event& find(History& history, const Matches& matches, std::size_t from = 0) {
  for (std::size_t i = from; i < history.size(); ++i) {
    if (matches(history[i])) return history[i];
  }
  ADD_FAILURE() << "the lawful history has no such event";
  static Event nobody;
  return nobody;
}

Matches claim_with(Answer answer) {
  return [answer](const Event& event) { return event.kind == Kind::claim && event.answer == answer; };
}

/// The second 202 of an order that a key repeated.
Event& repeat(History& history) {
  const Event& first = find(history, [&](const Event& event) {
    return event.answer == Answer::accepted && event.kind == Kind::claim && event.key != 0 &&
           std::count_if(history.begin(), history.end(), [&](const Event& other) {
             return other.kind == Kind::claim && other.order == event.order && other.answer == Answer::accepted;
           }) > 1;
  });
  const std::uint64_t request = first.request;
  const OrderName order = first.order;
  return find(history, [&](const Event& event) {
    return event.kind == Kind::claim && event.order == order && event.request != request &&
           event.answer == Answer::accepted;
  });
}

Event new_order(std::uint64_t buyer, std::int64_t at_us) {
  Event event;
  event.answer = Answer::accepted;
  event.buyer = buyer;
  event.order = {77, buyer};
  event.planned_us = event.sent_us = at_us;
  event.answered_us = at_us + 1'000;
  return event;
}

struct Plant {
  Rule rule;
  std::function<LawfulOptions()> lawful;
  std::function<void(History&, Terms&)> spoil;
};

LawfulOptions keyed() {
  LawfulOptions options = plain();
  options.keyed = 1'000;
  options.repeats = 600;
  return options;
}

LawfulOptions numbered() {
  LawfulOptions options = plain();
  options.is_numbered = true;
  return options;
}

LawfulOptions paid_at_once() {
  LawfulOptions options = plain();
  options.payments = 1'000;
  return options;
}

LawfulOptions with_cancels() {
  LawfulOptions options = plain();
  options.cancels = 500;
  return options;
}

const std::vector<Plant>& plants() {
  static const std::vector<Plant> list{
      {Rule::oversold, plain, [](History& history, Terms&) { history.push_back(new_order(9'001, 9'000'000)); }},
      {Rule::over_limit, plain,
       [](History& history, Terms& terms) {
         const std::uint64_t buyer = find(history, claim_with(Answer::accepted)).buyer;
         history.push_back(new_order(buyer, 9'000'000));
         terms.total_units += 1;
       }},
      {Rule::number_twice, numbered,
       [](History& history, Terms&) {
         const Event& first = find(history, claim_with(Answer::accepted));
         Event& other = find(history, [&](const Event& event) {
           return claim_with(Answer::accepted)(event) && event.buyer != first.buyer;
         });
         other.numbers = first.numbers;
       }},
      {Rule::numbers_unlike_units, numbered,
       [](History& history, Terms&) { find(history, claim_with(Answer::accepted)).numbers.push_back(9'999); }},
      {Rule::order_unnamed, plain,
       [](History& history, Terms&) { find(history, claim_with(Answer::accepted)).order = {}; }},
      {Rule::order_shared, plain,
       [](History& history, Terms&) {
         const Event& first = find(history, claim_with(Answer::accepted));
         find(history, [&](const Event& event) {
           return claim_with(Answer::accepted)(event) && event.buyer != first.buyer;
         }).order = first.order;
       }},
      {Rule::order_changed, keyed, [](History& history, Terms&) { repeat(history).units = 2; }},
      {Rule::key_split, keyed, [](History& history, Terms&) { repeat(history).order = {5, 5}; }},
      {Rule::key_mixed, keyed, [](History& history, Terms&) { repeat(history).key += 100'000; }},
      {Rule::answered_twice, plain,
       [](History& history, Terms&) { history.push_back(find(history, claim_with(Answer::sold_out))); }},
      {Rule::time_reversed, plain,
       [](History& history, Terms&) {
         Event& event = find(history, claim_with(Answer::sold_out));
         event.answered_us = event.sent_us - 1;
       }},
      {Rule::time_reversed, plain,
       [](History& history, Terms&) {
         Event& event = find(history, claim_with(Answer::sold_out));
         event.planned_us = event.sent_us + 1;
       }},
      {Rule::sold_too_early, plain,
       [](History& history, Terms& terms) {
         terms.opens_us = find(history, claim_with(Answer::accepted)).answered_us + 1;
       }},
      {Rule::sold_too_late, plain,
       [](History& history, Terms& terms) {
         terms.closes_us = 8'000'000;
         Event& event = find(history, claim_with(Answer::accepted));
         event.planned_us = event.sent_us = 8'000'000;
         event.answered_us = 8'001'000;
       }},
      {Rule::false_not_open, plain,
       [](History& history, Terms&) { find(history, claim_with(Answer::sold_out)).answer = Answer::not_open; }},
      {Rule::false_sale_ended, plain,
       [](History& history, Terms&) { find(history, claim_with(Answer::sold_out)).answer = Answer::sale_ended; }},
      {Rule::false_sold_out, plain,
       [](History& history, Terms&) {
         Event& event = find(history, claim_with(Answer::accepted));
         event.answer = Answer::sold_out;
         event.order = {};
         event.may_return = true;
       }},
      // The sale had one unit more than it sold: the very last refusals were wrong.
      {Rule::false_sold_out, plain, [](History&, Terms& terms) { terms.total_units += 1; }},
      // A unit came back, nobody took it, and more than the allowed second later it is still refused.
      {Rule::false_sold_out, plain,
       [](History& history, Terms&) {
         const Event owner = find(history, claim_with(Answer::accepted));
         Event cancel;
         cancel.kind = Kind::release;
         cancel.answer = Answer::accepted;
         cancel.order = owner.order;
         cancel.planned_us = cancel.sent_us = 9'000'000;
         cancel.answered_us = 9'001'000;
         history.push_back(cancel);
         Event refused;
         refused.answer = Answer::sold_out;
         refused.may_return = true;
         refused.buyer = 9'001;
         refused.planned_us = refused.sent_us = 10'001'001;
         refused.answered_us = 10'002'000;
         history.push_back(refused);
       }},
      {Rule::false_final, plain,
       [](History& history, Terms&) { find(history, claim_with(Answer::sold_out)).may_return = false; }},
      {Rule::false_hope, paid_at_once,
       [](History& history, Terms&) {
         Event refused;
         refused.answer = Answer::sold_out;
         refused.may_return = true;
         refused.buyer = 9'001;
         refused.planned_us = refused.sent_us = 20'000'000;
         refused.answered_us = 20'001'000;
         history.push_back(refused);
       }},
      {Rule::false_limit, plain,
       [](History& history, Terms& terms) {
         terms.limit_per_buyer = 2;
         find(history, claim_with(Answer::sold_out)).answer = Answer::limit_reached;
       }},
      {Rule::wrong_code, plain,
       [](History& history, Terms&) {
         find(history, claim_with(Answer::already_purchased)).answer = Answer::limit_reached;
       }},
      {Rule::foreign_order_named, plain,
       [](History& history, Terms&) {
         Event& event = find(history, claim_with(Answer::already_purchased));
         event.order = find(history, [&](const Event& other) {
                         return claim_with(Answer::accepted)(other) && other.buyer != event.buyer;
                       }).order;
       }},
      {Rule::unknown_order_named, plain,
       [](History& history, Terms&) { find(history, claim_with(Answer::already_purchased)).order = {1, 2}; }},
      {Rule::order_named_too_early, plain,
       [](History& history, Terms&) {
         Event& event = find(history, claim_with(Answer::already_purchased));
         event.planned_us = event.sent_us = -9'000;
         event.answered_us = -8'000;
       }},
      {Rule::ended_order_named, with_cancels,
       [](History& history, Terms&) {
         const Event& cancel = find(history, [](const Event& event) {
           return event.kind == Kind::release && event.answer == Answer::accepted;
         });
         Event refused;
         refused.answer = Answer::already_purchased;
         refused.buyer = cancel.buyer;
         refused.order = cancel.order;
         refused.planned_us = refused.sent_us = cancel.answered_us + 1'000'001;
         refused.answered_us = refused.sent_us + 500;
         history.push_back(refused);
       }},
      {Rule::order_lost, plain,
       [](History& history, Terms&) {
         find(history, [](const Event& event) {
           return event.kind == Kind::lookup && event.answer == Answer::accepted;
         }).answer = Answer::refused;
       }},
      {Rule::foreign_order_shown, plain,
       [](History& history, Terms&) {
         find(history, [](const Event& event) {
           return event.kind == Kind::lookup && event.answer == Answer::refused;
         }).answer = Answer::accepted;
       }},
      {Rule::unlawful_move, plain,
       [](History& history, Terms&) {
         Event look = find(history, [](const Event& event) {
           return event.kind == Kind::lookup && event.answer == Answer::accepted;
         });
         look.request = 0;
         look.planned_us = look.sent_us = 30'000'000;
         look.answered_us = 30'001'000;
         look.status = Status::cancelled;
         history.push_back(look);
         look.planned_us = look.sent_us = 31'000'000;
         look.answered_us = 31'001'000;
         look.status = Status::paid;
         history.push_back(look);
       }},
      {Rule::ended_too_early, plain,
       [](History& history, Terms& terms) {
         terms.pay_within_us = 600'000'000;
         find(history, [](const Event& event) {
           return event.kind == Kind::lookup && event.answer == Answer::accepted;
         }).status = Status::expired;
       }},
      {Rule::shelf_wrong_sum, plain,
       [](History& history, Terms&) {
         find(history, [](const Event& event) { return event.kind == Kind::shelf; }).held += 1;
       }},
      {Rule::shelf_backwards, plain,
       [](History& history, Terms&) {
         Event shelf = find(history, [](const Event& event) { return event.kind == Kind::shelf && event.version > 0; });
         shelf.request = 0;
         shelf.planned_us = shelf.sent_us = shelf.answered_us + 1;
         shelf.answered_us = shelf.sent_us + 1;
         shelf.version -= 1;
         history.push_back(shelf);
       }},
      {Rule::shelf_impossible, plain,
       [](History& history, Terms&) {
         Event shelf = find(history, [](const Event& event) { return event.kind == Kind::shelf; });
         shelf.request = 0;
         shelf.version = 1'000'000;
         shelf.planned_us = shelf.sent_us = 40'000'000;
         shelf.answered_us = 40'001'000;
         shelf.free = 1;
         shelf.held = shelf.total - 1;
         shelf.sold = 0;
         history.push_back(shelf);
       }},
  };
  return list;
}

class PlantedFault : public testing::TestWithParam<std::size_t> {};

TEST_P(PlantedFault, IsFound) {
  const Plant& plant = plants()[GetParam()];
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    LawfulOptions options = plant.lawful();
    options.seed = seed;
    History history = lawful_history(options);
    const Report before = audit(history, options.terms);
    ASSERT_TRUE(before.is_clean()) << "seed " << seed << ": " << first_of(before);
    Terms terms = options.terms;
    plant.spoil(history, terms);
    const Report report = audit(history, terms);
    EXPECT_GE(report.count(plant.rule), 1U) << name(plant.rule) << ", seed " << seed << ": " << first_of(report);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFault, testing::Range<std::size_t>(0, plants().size()), [](const auto& made) {
  return std::string(name(plants()[made.param].rule)) + "_" + std::to_string(made.param);
});

TEST(Auditor, EveryRuleHasAPlantedFault) {
  std::array<bool, kRuleCount> has_one{};
  for (const Plant& plant : plants()) has_one[static_cast<std::size_t>(plant.rule)] = true;
  for (std::size_t i = 0; i < kRuleCount; ++i) EXPECT_TRUE(has_one[i]) << name(static_cast<Rule>(i));
}

}  // namespace
}  // namespace weir::auditor
