#include "app/capacity.h"
#include "app/command.h"
#include "base/time_text.h"

#include <cstdio>
#include <memory>

namespace weir {
namespace {

struct PlanFlags {
  CapacityOrder order;
  std::string within;
};

void plan(CommandContext& context, PlanFlags& flags) {
  const auto within = parse_duration(flags.within);
  if (!within) return give_up(context, Exit::usage, within.error() + " (--within)");
  flags.order.within = *within;
  const auto capacity = plan_capacity(flags.order);
  if (!capacity) return give_up(context, Exit::usage, capacity.error());
  if (context.is_json)
    std::printf("%s\n", capacity_json(*capacity).c_str());
  else
    std::printf("%s", capacity_text(*capacity).c_str());
  context.exit = capacity->fits() ? Exit::done : Exit::failed;
}

}  // namespace

void add_plan_command(CLI::App& program, CommandContext& context) {
  CLI::App* command = program.add_subcommand(
      "plan",
      "Say what a sale takes on several machines, from measured figures\n\n"
      "Cores and nodes for the crowd that is refused, the slot of Redis that one sale lives on, partitions, workers, "
      "PostgreSQL, connections and bandwidth. Every line names the figures it comes from and its margin; below stand "
      "the figures with the command that measures each. They are one machine's: measure yours with `./dev bench "
      "distributed` and rehearse with `weir rehearse` before you believe them.\n\n"
      "Nothing is read and nothing is asked: no settings, no server. Exit code 1: no number of machines makes it fit, "
      "and the plan says what would.\n\n"
      "Example: weir plan --buyers 500000 --units 10000 --within 2s\n"
      "Example: weir plan --buyers 500000 --units 10000 --within 2s --sales 10 --json");
  auto flags = std::make_shared<PlanFlags>();
  command->add_option("--buyers", flags->order.buyers, "How many come to one sale; each presses once")->required();
  command->add_option("--units", flags->order.units, "Units of one sale; a winner takes one")->required();
  command
      ->add_option("--within", flags->within,
                   "The time in which all of them press and all units are to be promised: 2s, 500ms")
      ->required();
  command->add_option("--sales", flags->order.sales, "Such sales at the same moment, each of one item")
      ->capture_default_str();
  command->add_option("--cores-per-node", flags->order.cores_per_node, "Cores that a node's machine has")
      ->capture_default_str();
  command->add_flag("--json", context.is_json, "Print the plan as JSON");
  command->callback([&context, flags] { plan(context, *flags); });
}

}  // namespace weir
