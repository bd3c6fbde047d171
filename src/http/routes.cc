#include "http/routes.h"

namespace weir::http {
namespace {

/// Whether `path` has the shape of `pattern`; the segment in place of the braces is written to `parameter`.
bool fits(std::string_view pattern, std::string_view path, std::string_view& parameter) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == path;
  const std::string_view before = pattern.substr(0, open);
  const std::string_view after = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after)) return false;
  const std::string_view middle = path.substr(before.size(), path.size() - before.size() - after.size());
  if (middle.find('/') != std::string_view::npos) return false;
  parameter = middle;
  return true;
}

}  // namespace

Match match(Method method, std::string_view path, bool is_operations) {
  const Method wanted = method == Method::head ? Method::get : method;
  Match result;
  for (const Route& route : kRoutes) {
    std::string_view parameter;
    if ((route.audience == Audience::operations) != is_operations || !fits(route.pattern, path, parameter)) continue;
    if (route.method == wanted) return {Match::Kind::found, &route, parameter};
    result.kind = Match::Kind::no_such_method;
  }
  return result;
}

}  // namespace weir::http
