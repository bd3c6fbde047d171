#include "queue/kafka_topic_id.h"

#include "base/encoding.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <poll.h>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace weir {
namespace {

// The requests by their numbers, and the versions that are spoken here.
constexpr std::int16_t kMetadata = 3;
constexpr std::int16_t kMetadataWithIds = 10;  // The first version whose answer names topic ids.
constexpr std::int16_t kMetadataNewest = 12;
constexpr std::int16_t kSaslHandshake = 17;
constexpr std::int16_t kApiVersions = 18;
constexpr std::int16_t kSaslAuthenticate = 36;
// Their errors that only the operator can mend.
constexpr std::int16_t kUnknownTopic = 3;
constexpr std::int16_t kTopicForbidden = 29;

constexpr std::size_t kAnswerBytesMax = 1024 * 1024;

/// Reads what a broker sent, front to back. After the first read beyond the end, `good` is false and all reads give 0.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::string_view take(std::size_t count) {
    good_ = good_ && count <= bytes_.size();
    if (!good_) return {};
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  [[nodiscard]] std::uint64_t big_endian(std::size_t count) {
    std::uint64_t value = 0;
    for (const char c : take(count)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  [[nodiscard]] std::int16_t int16() { return static_cast<std::int16_t>(big_endian(2)); }
  [[nodiscard]] std::uint32_t varint() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const auto byte = static_cast<std::uint32_t>(big_endian(1));
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    good_ = false;
    return 0;
  }
  /// A length that is written as one more than it is; 0 means null.
  std::string_view compact_text() {
    const std::uint32_t length = varint();
    return length == 0 ? std::string_view{} : take(length - 1);
  }
  void skip_tags() {
    const std::uint32_t count = varint();
    for (std::uint32_t i = 0; i < count && good_; ++i) {
      static_cast<void>(varint());
      static_cast<void>(take(varint()));
    }
  }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

void append_big_endian(std::string& out, std::uint64_t value, unsigned count) {
  for (unsigned i = count; i > 0; --i) out += static_cast<char>((value >> (8 * (i - 1))) & 0xff);
}
void append_text(std::string& out, std::string_view text) {
  append_big_endian(out, text.size(), 2);
  out += text;
}

std::optional<std::string> setting(const KafkaOptions& options, std::string_view key) {
  const auto found = std::ranges::find(options.security, key, &KafkaSetting::key);
  if (found == options.security.end()) return std::nullopt;
  return found->value;
}

/// How to speak to the brokers with what is set; null: some way that this file does not speak.
struct Manner {
  bool tls = false;
  bool sasl = false;
  std::string user;
  std::string password;
};
std::optional<Manner> manner_of(const KafkaOptions& options) {
  std::string protocol = setting(options, "security.protocol").value_or("plaintext");
  std::ranges::transform(protocol, protocol.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  Manner manner;
  manner.tls = protocol == "ssl" || protocol == "sasl_ssl";
  manner.sasl = protocol == "sasl_plaintext" || protocol == "sasl_ssl";
  const std::string mechanism =
      setting(options, "sasl.mechanism").value_or(setting(options, "sasl.mechanisms").value_or("GSSAPI"));
  if (manner.sasl && mechanism != "PLAIN") return std::nullopt;
  manner.user = setting(options, "sasl.username").value_or("");
  manner.password = setting(options, "sasl.password").value_or("");
  for (const KafkaSetting& each : options.security) {
    const bool is_spoken = !each.key.starts_with("ssl.") || each.key == "ssl.ca.location" ||
                           each.key == "ssl.certificate.location" || each.key == "ssl.key.location" ||
                           each.key == "ssl.endpoint.identification.algorithm";
    if (manner.tls && !is_spoken) return std::nullopt;
  }
  return manner;
}

struct BioFree {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
struct ContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

/// One connection to a broker; every wait ends at the deadline.
class Wire {
 public:
  Wire(const Clock& clock, Deadline deadline) : clock_(clock), deadline_(deadline) {}

  [[nodiscard]] Result<void> connect(const std::string& broker, const Manner& manner, const KafkaOptions& options) {
    if (manner.tls) {
      if (const auto made = make_tls(broker, options); !made) return made;
    } else {
      bio_.reset(BIO_new(BIO_s_connect()));
    }
    std::string address = broker;
    BIO_ctrl(bio_.get(), BIO_C_SET_CONNECT, 0, address.data());
    BIO_set_nbio(bio_.get(), 1);
    return until_done("connect to " + broker, [this] { return BIO_do_connect(bio_.get()); });
  }

  /// Sends one request and reads the answer to it, without its length and number.
  [[nodiscard]] Result<std::string> ask(std::int16_t api, std::int16_t version, std::string_view client,
                                        bool is_flexible, std::string_view body) {
    std::string request;
    append_big_endian(request, static_cast<std::uint64_t>(api), 2);
    append_big_endian(request, static_cast<std::uint64_t>(version), 2);
    append_big_endian(request, ++number_, 4);
    append_text(request, client);
    if (is_flexible) request += '\0';
    request += body;
    std::string framed;
    append_big_endian(framed, request.size(), 4);
    framed += request;
    if (const auto sent = send(framed); !sent) return std::unexpected(sent.error());
    const auto head = receive(8);
    if (!head) return head;
    Reader reader{*head};
    const std::size_t size = reader.big_endian(4);
    if (reader.big_endian(4) != number_ || size < 4 || size > kAnswerBytesMax)
      return fail(Failure::unavailable, "a broker's answer is none to what was asked");
    return receive(size - 4);
  }

 private:
  [[nodiscard]] Result<void> make_tls(const std::string& broker, const KafkaOptions& options) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    const auto authority = setting(options, "ssl.ca.location");
    const auto certificate = setting(options, "ssl.certificate.location");
    const auto key = setting(options, "ssl.key.location");
    const bool is_trust_set = authority
                                  ? SSL_CTX_load_verify_locations(context_.get(), authority->c_str(), nullptr) == 1
                                  : SSL_CTX_set_default_verify_paths(context_.get()) == 1;
    if (!is_trust_set) return fail(Failure::unfit, "kafka.ssl.ca.location cannot be read");
    if (certificate && SSL_CTX_use_certificate_chain_file(context_.get(), certificate->c_str()) != 1)
      return fail(Failure::unfit, "kafka.ssl.certificate.location cannot be read");
    if (key && SSL_CTX_use_PrivateKey_file(context_.get(), key->c_str(), SSL_FILETYPE_PEM) != 1)
      return fail(Failure::unfit, "kafka.ssl.key.location cannot be read");
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    bio_.reset(BIO_new_ssl_connect(context_.get()));
    SSL* ssl = nullptr;
    BIO_get_ssl(bio_.get(), &ssl);
    std::string host = broker.substr(0, broker.rfind(':'));
    X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl);
    if (setting(options, "ssl.endpoint.identification.algorithm") != "none" &&
        X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) != 1) {
      SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data());
      X509_VERIFY_PARAM_set1_host(parameters, host.c_str(), host.size());
    }
    return {};
  }

  /// Repeats a step of the connection until it is done (a positive answer), fails, or time is up.
  template <typename Step>
  [[nodiscard]] Result<void> until_done(const std::string& what, Step step) {
    while (true) {
      ERR_clear_error();
      if (step() > 0) return {};
      if (BIO_should_retry(bio_.get()) == 0) return fail(Failure::unavailable, what + ": " + last_error());
      const std::int64_t left_ms = (deadline_ - clock_.ticks()).count() / 1000;
      pollfd waited{};
      BIO_get_fd(bio_.get(), &waited.fd);
      waited.events = BIO_should_read(bio_.get()) != 0 ? POLLIN : POLLOUT;
      if (left_ms <= 0 || poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(left_ms, 60'000))) == 0)
        return fail(Failure::timed_out, what + ": no answer in time");
    }
  }

  [[nodiscard]] static std::string last_error() {
    const unsigned long code = ERR_peek_last_error();
    if (code == 0) return "the broker closed the connection";
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : std::strerror(static_cast<int>(ERR_GET_REASON(code)));
  }

  [[nodiscard]] Result<void> send(std::string_view bytes) {
    while (!bytes.empty()) {
      int count = 0;
      const auto done = until_done(
          "ask a broker", [&] { return count = BIO_write(bio_.get(), bytes.data(), static_cast<int>(bytes.size())); });
      if (!done) return done;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }

  [[nodiscard]] Result<std::string> receive(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < size;) {
      int count = 0;
      const auto done = until_done("hear a broker", [&] {
        return count = BIO_read(bio_.get(), bytes.data() + at, static_cast<int>(size - at));
      });
      if (!done) return std::unexpected(done.error());
      at += static_cast<std::size_t>(count);
    }
    return bytes;
  }

  const Clock& clock_;
  const Deadline deadline_;
  std::uint32_t number_ = 0;
  std::unique_ptr<SSL_CTX, ContextFree> context_;
  std::unique_ptr<BIO, BioFree> bio_;
};

/// The newest version of the metadata request that the broker takes; 0 if it does not say.
Result<std::int16_t> metadata_version(Wire& wire, const KafkaOptions& options) {
  const auto answer = wire.ask(kApiVersions, 0, options.client_id, false, {});
  if (!answer) return std::unexpected(answer.error());
  Reader reader{*answer};
  static_cast<void>(reader.int16());
  const std::uint64_t count = reader.big_endian(4);
  for (std::uint64_t i = 0; i < count && reader.good(); ++i) {
    const std::int16_t api = reader.int16();
    static_cast<void>(reader.int16());
    const std::int16_t newest = reader.int16();
    if (api == kMetadata && reader.good()) return newest;
  }
  return std::int16_t{0};
}

Result<void> sign_in(Wire& wire, const Manner& manner, const KafkaOptions& options) {
  std::string handshake;
  append_text(handshake, "PLAIN");
  const auto offered = wire.ask(kSaslHandshake, 1, options.client_id, false, handshake);
  if (!offered) return std::unexpected(offered.error());
  std::string token;
  token += '\0';
  token += manner.user;
  token += '\0';
  token += manner.password;
  std::string body;
  append_big_endian(body, token.size(), 4);
  body += token;
  const auto answer = wire.ask(kSaslAuthenticate, 0, options.client_id, false, body);
  if (!answer) return std::unexpected(answer.error());
  if (Reader{*offered}.int16() != 0 || Reader{*answer}.int16() != 0)
    return fail(Failure::unfit, "the broker refuses kafka.sasl.username and its password");
  return {};
}

std::string metadata_request(std::string_view topic, std::int16_t version) {
  std::string body;
  body += '\2';           // One topic, written as one more.
  body.append(16, '\0');  // Its id: not known.
  body += static_cast<char>(topic.size() + 1);
  body += topic;
  body += '\0';
  body += '\0';  // Do not make it.
  if (version < 11) body += '\0';
  body += '\0';
  body += '\0';
  return body;
}

Result<std::string> ask_broker(const std::string& broker, const Manner& manner, const KafkaOptions& options,
                               const Clock& clock, Deadline deadline) {
  Wire wire{clock, deadline};
  if (const auto connected = wire.connect(broker, manner, options); !connected)
    return std::unexpected(connected.error());
  const auto newest = metadata_version(wire, options);
  if (!newest) return std::unexpected(newest.error());
  if (*newest < kMetadataWithIds) return "name:" + options.topic;
  if (manner.sasl)
    if (const auto signed_in = sign_in(wire, manner, options); !signed_in) return std::unexpected(signed_in.error());
  const std::int16_t version = std::min(*newest, kMetadataNewest);
  const auto body = wire.ask(kMetadata, version, options.client_id, true, metadata_request(options.topic, version));
  if (!body) return body;
  const auto answer = read_topic_answer(*body);
  if (!answer) return fail(Failure::unavailable, "a broker's metadata: " + answer.error());
  if (answer->error == kUnknownTopic)
    return fail(Failure::unfit, fmt::format("there is no topic {}: make it, or name another by kafka.topic; weir does "
                                            "not make topics",
                                            options.topic));
  if (answer->error == kTopicForbidden)
    return fail(Failure::unfit,
                fmt::format("this user may not see the topic {}: allow him DESCRIBE, READ and WRITE", options.topic));
  if (answer->error != 0)
    return fail(Failure::unavailable, fmt::format("the topic {}: error {}", options.topic, answer->error));
  return answer->id;
}

}  // namespace

Parsed<KafkaTopicAnswer> read_topic_answer(std::string_view body) {
  Reader reader{body};
  reader.skip_tags();
  static_cast<void>(reader.big_endian(4));  // Throttling.
  const std::uint32_t brokers = reader.varint();
  for (std::uint32_t i = 1; i < brokers && reader.good(); ++i) {
    static_cast<void>(reader.big_endian(4));
    reader.compact_text();
    static_cast<void>(reader.big_endian(4));
    reader.compact_text();
    reader.skip_tags();
  }
  reader.compact_text();                    // The cluster's id.
  static_cast<void>(reader.big_endian(4));  // Its controller.
  if (reader.varint() != 2) return std::unexpected("it is not about one topic");
  KafkaTopicAnswer answer;
  answer.error = reader.int16();
  reader.compact_text();
  answer.id = hex_text(reader.take(16));
  if (!reader.good()) return std::unexpected("it ends too early");
  return answer;
}

Result<std::string> kafka_topic_id(const KafkaOptions& options, const Clock& clock, Deadline deadline) {
  const auto manner = manner_of(options);
  if (!manner) return "name:" + options.topic;
  if (options.topic.empty() || options.topic.size() > 120)
    return fail(Failure::unfit, "kafka.topic has 1 to 120 characters");
  Error last{Failure::unavailable, "kafka.brokers is empty"};
  for (std::size_t i = 0; i < options.brokers.size(); ++i) {
    // One that swallows what it is sent leaves time for the others.
    const Ticks now = clock.ticks();
    const Micros share = (deadline - now) / static_cast<std::int64_t>(options.brokers.size() - i);
    auto id = ask_broker(options.brokers[i], *manner, options, clock, now + share);
    if (id) return id;
    last = std::move(id.error());
    if (last.failure == Failure::unfit) break;
  }
  return std::unexpected(std::move(last));
}

}  // namespace weir
