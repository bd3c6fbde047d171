#include "http/answer_writer.h"
#include "http/exchange.h"

#include <string>

namespace weir::http {

FixedReply::FixedReply(const Response& response) {
  const AnswerLayout layout = answer_layout(response.status);
  ByteBuffer bytes;
  AnswerShape shape;
  shape.request_id = kBlankRequestId;
  append_answer(bytes, response, shape, kBlankDate);
  bytes_ = bytes.view();
  date_at_ = layout.date_at;
  request_id_at_ = layout.request_id_at;
  connection_at_ = layout.request_id_at + kBlankRequestId.size() + 2;
  body_at_ = bytes_.find("\r\n\r\n") + 4;
}

}  // namespace weir::http
