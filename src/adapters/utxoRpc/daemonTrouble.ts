import type { Clock } from "../../ports/clock.ts";
import type { DaemonRpc } from "../../ports/daemonRpc.ts";
import { DaemonCalls } from "./daemonCalls.ts";
import { faultSentence } from "./fault.ts";

/** Deadline of the one question. */
const TRY_MS = 10_000;

/**
 * Asks a daemon that nothing goes by yet for its first block: whether it is there, takes the login and serves the coin's chain.
 *
 * @param expected the first block of that; null: not known
 * @returns why a coin could not go by it, a sentence; null: it could
 * @throws Aborted when `signal` fires
 */
export async function daemonTrouble(
  ticker: string,
  rpc: DaemonRpc,
  clock: Clock,
  expected: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  const first = await new DaemonCalls(rpc, clock, TRY_MS, signal).hashAt(0);
  if (!first.ok) return faultSentence(ticker, first.error);
  const found = first.value ?? "none";
  return expected === null || found === expected ? null : faultSentence(ticker, { kind: "other_chain", expected, found });
}
