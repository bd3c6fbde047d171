#include "config/limits.h"
#include "flow/draw.h"
#include "http/front_door.h"

#include <chrono>
#include <future>
#include <memory>

#include <fmt/format.h>

namespace weir::http {
namespace {

/// Keeps a draw on the ledger writer's thread and waits for it here, in the pool.
Result<ChangeResult> record_through(Services& services, ItemNo item, const Draw& draw) {
  const auto done = std::make_shared<std::promise<Result<ChangeResult>>>();
  std::future<Result<ChangeResult>> heard = done->get_future();
  ChangeRequest change;
  change.run = [item, draw](Ledger& ledger) { return ledger.record_draw(item, draw); };
  change.done = [done](const Result<ChangeResult>& result) { done->set_value(result); };
  if (!services.change(std::move(change))) return fail(Failure::overloaded, "too many changes are waiting");
  if (heard.wait_for(std::chrono::microseconds{kLedgerWaitUs}) != std::future_status::ready)
    return fail(Failure::timed_out, "the ledger has not answered yet: ask again");
  return heard.get();
}

}  // namespace

void FrontDoor::admin_draw(const Tenant& tenant, std::string_view item_id, const Request& request, Exchange& exchange) {
  JsonBody body;
  if (!read_body(request, exchange, {"winners", "mix"}, body)) return;
  const Item* const item = catalog_->item_by_id(tenant.no, item_id);
  if (item == nullptr) return refuse(exchange, Code::unknown_item);
  const JsonMember* const winners = body.find("winners");
  const JsonMember* const mix = body.find("mix");
  const auto count = winners == nullptr ? std::nullopt : winners->whole();
  if (!count || *count < 1 || *count > kDrawWinnersMax) {
    return answer(exchange, Code::invalid_request,
                  invalid("winners", fmt::format("A whole number from 1 to {} is needed.", kDrawWinnersMax)));
  }
  const auto mixed = mix == nullptr ? std::optional<std::string>{""} : mix->text();
  if (!mixed || mixed->size() > kDrawMixBytesMax)
    return answer(exchange, Code::invalid_request, invalid("mix", "A text is needed."));
  in_pool(exchange,
          [&services = services_, catalog = catalog_, item_no = item->no,
           wish = DrawWish{item->no, static_cast<std::size_t>(*count), *mixed}](LedgerReader& ledger) -> Response {
            const auto outcome = draw_item(
                wish, ledger, [&services](ItemNo no, const Draw& draw) { return record_through(services, no, draw); });
            if (!outcome) return error_response(Code::unavailable, {}, outcome.error().message);
            if (!outcome->draw) return error_response(Code::not_allowed, {}, draw_problem(*outcome));
            const Item& of = *catalog->item(item_no);
            return personal(draw_json(*outcome->draw, of.id, outcome->kind == DrawOutcome::Kind::repeated));
          });
}

}  // namespace weir::http
