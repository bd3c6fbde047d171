#include "http/ops_api.h"

namespace weir::http {

void OpsApi::handle(const Request& request, Exchange& exchange) {
  const Match found = match(request.method, request.path, true);
  if (found.kind == Match::Kind::no_such_path) return exchange.send(error_response(Code::not_found));
  if (found.kind == Match::Kind::no_such_method) return exchange.send(error_response(Code::method_not_allowed));
  if (found.route->id == RouteId::metrics) {
    Response response = personal(questions_.metrics_text());
    response.content_type = "text/plain; version=0.0.4";
    return exchange.send(response);
  }
  if (found.route->id == RouteId::readyz && !questions_.is_ready()) {
    return exchange.send(
        error_response(Code::unavailable, {}, "The gate is not built or the ledger cannot be written."));
  }
  exchange.send(personal("{\"ok\":true}"));
}

}  // namespace weir::http
