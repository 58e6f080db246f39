import type { AccountChain, NodeHealth } from "../../../ports/accountChain.ts";
import type { ServerHealth, ServerNeeds } from "../../../ports/electrum.ts";

const STATES = { new: "connecting", good: "connected", lagging: "lagging", away: "away", refused: "dropped" } as const satisfies {
  readonly [state in NodeHealth["state"]]: ServerHealth["state"];
};

/** The nodes of an account chain in the order they were given, in the words that Electrum servers are shown with. */
export const nodesAsServers = (chain: Pick<AccountChain, "status">): readonly ServerHealth[] =>
  chain.status().nodes.map((node) => ({ ...node, state: STATES[node.state] }));

/** More than half of the nodes given must be there and agree; of two that is left alone for a minute, the one (ADR 25). */
export function nodeNeeds(chain: Pick<AccountChain, "status" | "ticker">): ServerNeeds {
  const { nodes, alone } = chain.status();
  const { length } = nodes;
  const warning = length > 1 ? alone : `${chain.ticker} has one node only, which is believed.`;
  return { minConnected: Math.floor(length / 2) + 1, warning };
}
