import type { ElectrumServers } from "./utxoOpener.ts";

/** Most servers of one coin. */
const MAX_SERVERS = 32;
const MAX_TIMEOUT_SEC = 600;

/** What is wrong with the servers of a request, a sentence; null: nothing. The wording of the bounds is KDF's (reference rpc.md 5.1). */
export function serversProblem({ servers, minConnected = 1, maxConnected = servers.length }: ElectrumServers): string | null {
  if (minConnected === 0) return "min_connected should be greater than 0";
  if (minConnected > maxConnected) return `min_connected (${minConnected}) must be <= max_connected (${maxConnected})`;
  if (servers.length === 0) return "a coin needs at least one Electrum server";
  if (servers.length > MAX_SERVERS) return `a coin has at most ${MAX_SERVERS} Electrum servers, found ${servers.length}`;
  if (minConnected > servers.length) return `min_connected (${minConnected}) is more than the ${servers.length} servers`;
  const plain = servers.find((s) => s.acceptCertificate !== undefined && (s.protocol === "TCP" || s.protocol === "WS"));
  if (plain) return `accept_certificate of ${plain.url} needs protocol SSL or WSS: over ${plain.protocol} there is no certificate`;
  const slow = servers.find((s) => s.timeoutSec === 0 || (s.timeoutSec ?? 1) > MAX_TIMEOUT_SEC);
  return slow ? `timeout_sec of ${slow.url} must be from 1 to ${MAX_TIMEOUT_SEC}` : null;
}
