#include "base/check.h"
#include "base/log.h"
#include "config/limits.h"
#include "http/reactor.h"

#include <algorithm>
#include <cerrno>
#include <type_traits>

#include <sys/socket.h>

/// One connection's requests: read, parsed, handed to the handler, answered in order.
namespace weir::http {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::size_t kAnswerBodyBytesMax = kOutputBytesMax - 2 * kFlushBytes;

void put_hex(char* at, std::uint32_t value) {
  for (int i = 7; i >= 0; --i) {
    at[i] = "0123456789abcdef"[value & 0xf];
    value >>= 4;
  }
}

}  // namespace

void Reactor::serve(Connection& connection) {
  if (connection.held != nullptr) {
    ByteBuffer& bytes = connection.held->bytes;
    CHECK(bytes.size() < kReadBytesMax, "size={}", bytes.size());
    const std::size_t before = bytes.capacity();
    char* room = bytes.room(1);
    count_held(connection, before, bytes.capacity());
    if (!connection.is_open()) return;
    const std::size_t count = read(connection, {room, std::min(bytes.room_left(), kReadBytesMax - bytes.size())});
    if (count == 0) return;
    bytes.added(count);
    return use_held(connection);
  }
  const std::size_t count = read(connection, {input_.get(), kReadBytesMax});
  if (count == 0) return;
  parser_.reset();
  const std::size_t used = answer_all(connection, parser_, {input_.get(), count});
  if (!connection.is_open()) return;
  if (used < count && !connection.is_closing) hold(connection, parser_, {input_.get() + used, count - used});
  settle(connection, true);
}

void Reactor::use_held(Connection& connection) {
  HeldInput& held = *connection.held;
  const std::size_t used = answer_all(connection, held.parser, held.bytes.span());
  if (!connection.is_open()) return;
  if (connection.held != nullptr) {
    held.bytes.used(used);
    if (held.bytes.empty() || connection.is_closing) release_held(connection);
  }
  settle(connection, used > 0);
}

/// Goes on after an answer that came late: it is in `output_`, and leaves together with those of the held requests.
void Reactor::resume(Connection& connection) {
  if (connection.held != nullptr && connection.is_free()) return use_held(connection);
  send_output(connection);
  settle(connection, true);
}

/// Reads once. 0: nothing came; perhaps the connection is closed.
std::size_t Reactor::read(Connection& connection, std::span<char> into) {
  const ssize_t got = ::recv(connection.fd, into.data(), into.size(), 0);
  counts_.reads.add();
  if (got > 0) {
    // Less than was asked for means that there was no more: what comes later is a new edge.
    connection.is_readable = connection.is_ending || static_cast<std::size_t>(got) == into.size();
    return static_cast<std::size_t>(got);
  }
  if (got < 0 && errno == EAGAIN) {
    connection.is_readable = false;
  } else if (got < 0 && errno == EINTR) {
    queue(connection);
  } else {
    close(connection);
  }
  return 0;
}

/// Answers what is complete, one write a gathering. Returns how many bytes were used up; the connection may be closed.
std::size_t Reactor::answer_all(Connection& connection, RequestParser& parser, std::span<char> bytes) {
  std::size_t used = 0;
  for (;;) {
    const std::size_t taken = gather(connection, parser, bytes.subspan(used));
    used += taken;
    if (connection.is_closing && used < bytes.size()) connection.is_lingering = true;
    send_output(connection);
    if (taken == 0 || used == bytes.size() || !connection.is_free()) return used;
  }
}

/// Parses and runs requests until the bytes, the depth, the output's room or the connection's turn ends.
std::size_t Reactor::gather(Connection& connection, RequestParser& parser, std::span<char> bytes) {
  std::size_t used = 0;
  for (std::size_t depth = 0; depth < kPipelineDepthMax && used < bytes.size(); ++depth) {
    if (!connection.is_free() || output_.size() >= kFlushBytes) break;
    const std::span<char> rest = bytes.subspan(used);
    const RequestParser::Progress progress = parser.parse(rest);
    if (progress == RequestParser::Progress::need_more) {
      if (parser.takes_continue(rest.size())) output_.append(kContinue);
      break;
    }
    if (progress == RequestParser::Progress::refused) {
      counts_.malformed.add();
      refuse(connection, parser.refusal());
      return bytes.size();
    }
    run(connection, parser, {rest.data(), rest.size()});
    used += parser.consumed();
    parser.reset();
  }
  return used;
}

void Reactor::run(Connection& connection, const RequestParser& parser, std::string_view bytes) {
  Request request = parser.request(bytes);
  request.peer = connection.peer;
  AnswerShape shape;
  shape.request_id = parser.request_id(bytes);
  shape.is_head = parser.is_head();
  const bool is_own_id = shape.request_id.empty();
  if (is_own_id) shape.request_id = next_request_id();
  if (!parser.is_kept_alive() || is_stopping()) {
    shape.ending = Ending::close;
    connection.is_closing = true;
  } else if (parser.is_http10()) {
    shape.ending = Ending::keep_alive;
  }
  counts_.requests.add();
  current_.begin(connection, shape, is_own_id);
  handler_->handle(request, current_);
  current_.end();
}

/// The last answer of the connection: nothing behind it is looked at.
void Reactor::refuse(Connection& connection, Refusal why) {
  writer_.append(output_, reply_of(why), {next_request_id(), Ending::close, false});
  connection.is_closing = true;
  connection.is_lingering = true;
}

std::string_view Reactor::next_request_id() {
  if (request_id_count_ == 0) {
    request_id_prefix_ = static_cast<std::uint32_t>(random_.next());
    put_hex(request_id_text_.data(), request_id_prefix_);
  }
  put_hex(request_id_text_.data() + 8, request_id_count_++);
  return {request_id_text_.data(), request_id_text_.size()};
}

void Reactor::append_response(ByteBuffer& out, const Response& response, const AnswerShape& shape) const {
  if (response.body.size() <= kAnswerBodyBytesMax) return writer_.append(out, response, shape);
  log::error("answer_too_large", {{"bytes", static_cast<std::int64_t>(response.body.size())}});
  writer_.append(out, reply_of(Refusal::answer_too_large), shape);
}

void Reactor::Current::begin(Connection& connection, const AnswerShape& shape, bool is_own_id) {
  connection_ = &connection;
  shape_ = shape;
  is_own_id_ = is_own_id;
  is_settled_ = false;
}

void Reactor::Current::settle_once() {
  CHECK(!is_settled_, "a handler answered twice");
  is_settled_ = true;
}

void Reactor::Current::end() const { CHECK(is_settled_, "a handler neither answered nor deferred"); }

void Reactor::Current::send(const FixedReply& reply) {
  settle_once();
  reactor_.writer_.append(reactor_.output_, reply, shape_);
}

void Reactor::Current::send(const Response& response) {
  settle_once();
  reactor_.append_response(reactor_.output_, response, shape_);
}

ReplyTo Reactor::Current::defer() {
  settle_once();
  Connection& connection = *connection_;
  connection.is_deferred = true;
  connection.is_head = shape_.is_head;
  connection.ending = shape_.ending;
  ++connection.generation;
  if (is_own_id_) {
    connection.request_number = std::uint64_t{reactor_.request_id_prefix_} << 32 | (reactor_.request_id_count_ - 1);
  } else {
    connection.request_id = std::make_unique<std::string>(shape_.request_id);
  }
  reactor_.place(connection, Wait::answer);
  return {connection.slot, connection.generation, reactor_.index_};
}

template <typename Answer>
void Reactor::complete_with(ReplyTo to, const Answer& answer) {
  Connection* const connection = to.reactor == index_ ? connections_.at(to.slot) : nullptr;
  if (connection == nullptr || !connection->is_deferred || connection->generation != to.generation) return;
  std::array<char, 16> text{};
  AnswerShape shape;
  if (connection->request_id != nullptr) {
    shape.request_id = *connection->request_id;
  } else {
    put_hex(text.data(), static_cast<std::uint32_t>(connection->request_number >> 32));
    put_hex(text.data() + 8, static_cast<std::uint32_t>(connection->request_number));
    shape.request_id = {text.data(), text.size()};
  }
  if (is_stopping()) {
    connection->ending = Ending::close;
    connection->is_closing = true;
  }
  shape.ending = connection->ending;
  shape.is_head = connection->is_head;
  const std::size_t at = completed_.size();
  if constexpr (std::is_same_v<Answer, FixedReply>) {
    writer_.append(completed_, answer, shape);
  } else {
    append_response(completed_, answer, shape);
  }
  connection->request_id.reset();
  connection->is_deferred = false;
  connection->is_answered = true;
  ++connection->generation;
  unplace(*connection);
  completions_.push_back({connection->slot, connection->generation, at, completed_.size() - at});
}

void Reactor::complete(ReplyTo to, const FixedReply& reply) { complete_with(to, reply); }

void Reactor::complete(ReplyTo to, const Response& response) { complete_with(to, response); }

/// Sends the answers that were completed. Never called from inside a handler, so a handler never runs inside itself.
void Reactor::flush_completions() {
  if (completions_.empty()) return;
  completions_.swap(flushing_);
  std::swap(completed_, flushing_bytes_);
  for (const Completion& completion : flushing_) {
    Connection& connection = *connections_.at(completion.slot);
    if (!connection.is_answered || connection.generation != completion.generation) continue;
    connection.is_answered = false;
    output_.append(flushing_bytes_.view().substr(completion.at, completion.size));
    resume(connection);
  }
  flushing_.clear();
  flushing_bytes_.clear();
  if (flushing_bytes_.capacity() > 4 * kFlushBytes) flushing_bytes_.drop();
}

}  // namespace weir::http
