#include "app/api_client.h"

#include <fstream>
#include <memory>

#include <curl/curl.h>
#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::size_t kAnswerBytesMax = 64 * 1024 * 1024;

std::size_t keep(char* data, std::size_t size, std::size_t count, void* out) {
  auto& body = *static_cast<std::string*>(out);
  if (body.size() + size * count > kAnswerBytesMax) return 0;
  body.append(data, size * count);
  return size * count;
}

}  // namespace

Result<std::string> read_token_file(const std::string& path) {
  std::ifstream file{path};
  std::string token;
  if (std::getline(file, token) && !token.empty()) return token;
  return fail(Failure::unfit, fmt::format("cannot read a token from '{}' (--token-file)", path));
}

Result<ApiClient> ApiClient::make(std::string url, const std::string& token_file) {
  ApiClient client;
  while (url.ends_with('/')) url.pop_back();
  client.url_ = std::move(url);
  if (token_file.empty()) return client;
  auto token = read_token_file(token_file);
  if (!token) return std::unexpected(token.error());
  client.token_ = std::move(*token);
  return client;
}

Result<ApiClient::Answer> ApiClient::get(std::string_view path) const { return send(path, nullptr); }

Result<ApiClient::Answer> ApiClient::post(std::string_view path, std::string_view body) const {
  const std::string text{body};
  return send(path, &text);
}

Result<ApiClient::Answer> ApiClient::send(std::string_view path, const std::string* body) const {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle{curl_easy_init(), &curl_easy_cleanup};
  if (!handle) return fail(Failure::unavailable, "the HTTP client cannot be made");
  Answer answer;
  const std::string url = url_ + std::string{path};
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  if (!token_.empty()) headers = curl_slist_append(headers, ("Authorization: Bearer " + token_).c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> owner{headers, &curl_slist_free_all};
  curl_easy_setopt(handle.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, &keep);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT_MS, 10'000L);
  curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_NOPROXY, "*");
  if (body != nullptr) {
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, body->c_str());
    curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body->size()));
  }
  const CURLcode code = curl_easy_perform(handle.get());
  if (code != CURLE_OK) {
    return fail(Failure::unavailable, fmt::format("{} did not answer: {} (--url)", url_, curl_easy_strerror(code)));
  }
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace weir
