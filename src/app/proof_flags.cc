#include "app/proof_flags.h"

#include "app/api_client.h"

#include <fmt/format.h>

namespace weir {

void add_proof_flags(CLI::App& command, CommandContext& context, ProofFlags& flags) {
  command.add_option("--url", flags.url, "Ask the running server at this address instead of the ledger in --data");
  command.add_option("--token-file", flags.token_file, "File with an organiser's token, for --url");
  command.add_flag("--json", context.is_json, "Print the answer as JSON");
  add_setting_flags(command, context);
}

Result<std::string> ask_server(const ProofFlags& flags, std::string_view path, const std::string* body) {
  const auto client = ApiClient::make(flags.url, flags.token_file);
  if (!client) return std::unexpected(client.error());
  const auto answer = body == nullptr ? client->get(path) : client->post(path, *body);
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 200) return answer->body;
  return fail(answer->status == 401 || answer->status == 403 ? Failure::unfit : Failure::unavailable,
              fmt::format("the server answered {}: {}", answer->status, answer->body));
}

}  // namespace weir
