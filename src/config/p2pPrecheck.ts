import { err, ok, type Result } from "../core/util/result.ts";

/** What the configuration says about the peer-to-peer role; null = the key is absent. */
export type P2pSettings = {
  readonly seedNodes: readonly string[] | null;
  readonly iAmSeed: boolean;
  readonly isBootstrapNode: boolean | null;
  readonly disableP2p: boolean | null;
  readonly inMemory: boolean;
  /** A passphrase or a wallet is configured: the node has a persistent identity. */
  readonly hasIdentity: boolean;
};

export type P2pRole = {
  readonly disabled: boolean;
  readonly isSeed: boolean;
  readonly isBootstrap: boolean;
  readonly seedNodes: readonly string[];
};

/** What KDF's texts leave to guess when `seednodes` is missing, which is what they then mean. */
export const WITHOUT_SEEDS =
  "name a seed of the network in seednodes. Only the first seed of a network has none: i_am_seed and is_bootstrap_node true; a node without a network: disable_p2p true";

/**
 * Derives the role and refuses contradictions, with KDF's texts in KDF's order (reference rpc.md 2.2,
 * p2p-wire.md 2). A node with neither seeds nor flags fails on purpose: it would sit alone for ever.
 */
export function p2pRole(settings: P2pSettings): Result<P2pRole, string> {
  const { iAmSeed, inMemory } = settings;
  const seedNodes = settings.seedNodes ?? [];
  const isBootstrap = settings.isBootstrapNode ?? (settings.disableP2p !== true && seedNodes.length === 0);
  const disabled = settings.disableP2p ?? (settings.isBootstrapNode !== true && settings.seedNodes === null && !inMemory);
  const isUnsaid = seedNodes.length === 0 && settings.isBootstrapNode !== true && settings.disableP2p !== true;
  const refuse = (reason: string): Result<never, string> => err(`Precheck failed: '${reason}'${isUnsaid ? `: ${WITHOUT_SEEDS}` : ""}`);

  if (isBootstrap && !iAmSeed) return refuse("Bootstrap node must also be a seed node.");
  if (isBootstrap && seedNodes.length > 0) return refuse("Bootstrap node cannot have seed nodes to connect.");
  if (!isBootstrap && seedNodes.length === 0 && !disabled) return refuse("Non-bootstrap node must have seed nodes configured to connect.");
  if (disabled && seedNodes.length > 0) return refuse("Cannot disable P2P while seed nodes are configured.");
  if (disabled && inMemory) return refuse("Cannot disable P2P while using in-memory P2P mode.");
  if (disabled && iAmSeed) return refuse("Seed nodes cannot disable P2P.");
  if (iAmSeed && !settings.hasIdentity) return refuse("Seed node requires a persistent identity to generate its P2P key.");
  return ok({ disabled, isSeed: iAmSeed, isBootstrap, seedNodes });
}
