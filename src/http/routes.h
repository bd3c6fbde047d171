#pragma once

#include "http/exchange.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::http {

/// Who may call a route. Checked in one place, so that a new route cannot forget it.
enum class Audience : std::uint8_t { everyone, buyer, support, organiser, operations };

enum class RouteId : std::uint8_t {
  purchase,
  time,
  sales,
  sale,
  item,
  numbers,
  state,
  me,
  order,
  orders,
  payment,
  cancel,
  guest,
  webhook,
  sandbox_status,
  sandbox_complete,
  admin_sales,
  admin_create_sale,
  admin_open,
  admin_pause,
  admin_resume,
  admin_close,
  admin_add_item,
  admin_stock,
  admin_draw,
  admin_order,
  admin_explain,
  admin_refund,
  admin_refunds,
  admin_audit,
  admin_reconcile,
  admin_tenants,
  admin_create_tenant,
  metrics,
  healthz,
  readyz,
};

struct Route {
  RouteId id;
  Method method;
  std::string_view pattern;  // `{…}` stands for one path segment.
  Audience audience;
};

/// Every route there is; `docs/openapi.yaml` is compared with it by a test.
inline constexpr std::array kRoutes{
    Route{RouteId::purchase, Method::post, "/api/flash-sales/items/{itemId}/purchase", Audience::buyer},
    Route{RouteId::time, Method::get, "/api/time", Audience::everyone},
    Route{RouteId::sales, Method::get, "/api/flash-sales", Audience::everyone},
    Route{RouteId::orders, Method::get, "/api/flash-sales/orders", Audience::buyer},
    Route{RouteId::order, Method::get, "/api/flash-sales/orders/{orderId}", Audience::buyer},
    Route{RouteId::cancel, Method::delete_, "/api/flash-sales/orders/{orderId}", Audience::buyer},
    Route{RouteId::payment, Method::post, "/api/flash-sales/orders/{orderId}/payment", Audience::buyer},
    Route{RouteId::item, Method::get, "/api/flash-sales/items/{itemId}", Audience::everyone},
    Route{RouteId::numbers, Method::get, "/api/flash-sales/items/{itemId}/numbers", Audience::everyone},
    Route{RouteId::sale, Method::get, "/api/flash-sales/{saleId}", Audience::everyone},
    Route{RouteId::state, Method::get, "/api/flash-sales/{saleId}/state", Audience::everyone},
    Route{RouteId::me, Method::get, "/api/flash-sales/{saleId}/me", Audience::buyer},
    Route{RouteId::guest, Method::post, "/api/auth/guest", Audience::everyone},
    Route{RouteId::webhook, Method::post, "/api/payments/{gateway}/webhook", Audience::everyone},
    Route{RouteId::sandbox_status, Method::get, "/api/payments/sandbox/{paymentId}", Audience::everyone},
    Route{RouteId::sandbox_complete, Method::post, "/api/payments/sandbox/{paymentId}/complete", Audience::everyone},
    Route{RouteId::admin_sales, Method::get, "/api/admin/sales", Audience::support},
    Route{RouteId::admin_create_sale, Method::post, "/api/admin/sales", Audience::organiser},
    Route{RouteId::admin_open, Method::post, "/api/admin/sales/{saleId}/open", Audience::organiser},
    Route{RouteId::admin_pause, Method::post, "/api/admin/sales/{saleId}/pause", Audience::organiser},
    Route{RouteId::admin_resume, Method::post, "/api/admin/sales/{saleId}/resume", Audience::organiser},
    Route{RouteId::admin_close, Method::post, "/api/admin/sales/{saleId}/close", Audience::organiser},
    Route{RouteId::admin_add_item, Method::post, "/api/admin/items", Audience::organiser},
    Route{RouteId::admin_stock, Method::post, "/api/admin/items/{itemId}/stock", Audience::organiser},
    Route{RouteId::admin_draw, Method::post, "/api/admin/items/{itemId}/draw", Audience::organiser},
    Route{RouteId::admin_order, Method::get, "/api/admin/orders/{orderId}", Audience::support},
    Route{RouteId::admin_explain, Method::get, "/api/admin/orders/{orderId}/explain", Audience::support},
    Route{RouteId::admin_refund, Method::post, "/api/admin/orders/{orderId}/refund", Audience::support},
    Route{RouteId::admin_refunds, Method::get, "/api/admin/refunds", Audience::support},
    Route{RouteId::admin_audit, Method::get, "/api/admin/audit", Audience::organiser},
    Route{RouteId::admin_reconcile, Method::post, "/api/admin/reconcile", Audience::organiser},
    Route{RouteId::admin_tenants, Method::get, "/api/admin/tenants", Audience::organiser},
    Route{RouteId::admin_create_tenant, Method::post, "/api/admin/tenants", Audience::organiser},
    Route{RouteId::metrics, Method::get, "/metrics", Audience::operations},
    Route{RouteId::healthz, Method::get, "/healthz", Audience::operations},
    Route{RouteId::readyz, Method::get, "/readyz", Audience::operations},
};

struct Match {
  enum class Kind : std::uint8_t { found, no_such_path, no_such_method } kind = Kind::no_such_path;
  const Route* route = nullptr;
  std::string_view parameter;  // The one `{…}` of the pattern.
};

/// Finds the route of a request. Paths are compared byte by byte: no decoding, no case folding, no trailing slash.
/// HEAD is served by the GET route. Routes of the operations listener are found only by it, and the others only by the
/// front door.
[[nodiscard]] Match match(Method method, std::string_view path, bool is_operations);

}  // namespace weir::http
