#pragma once

#include "app/writer.h"
#include "domain/catalog.h"
#include "flow/admit.h"
#include "gate/shelf_board.h"
#include "metrics/text_exposition.h"

#include <cstddef>

/// The figures that every selling process has, whatever it sells from.
namespace weir {

void add_desk_metrics(TextExposition& out, const AdmitCounts& admit, std::size_t in_flight);
void add_settle_metrics(TextExposition& out, const WriterCounts& writer);
void add_item_metrics(TextExposition& out, const Catalog& catalog, const ShelfBoard& shelves);

}  // namespace weir
