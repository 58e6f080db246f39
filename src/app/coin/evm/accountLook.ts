import type { EvmAddress } from "../../../core/evm/address.ts";
import type { AccountChain } from "../../../ports/accountChain.ts";
import { Aborted, type Clock, withDeadline } from "../../../ports/clock.ts";
import type { Log } from "../../../ports/log.ts";
import type { EvmEnableError } from "../evmParts.ts";
import { FAILING_MS, FIRST_BALANCE_MS } from "../firstLook.ts";
import { whenFailing } from "../whenFailing.ts";

/** Nodes that were away are asked again within some seconds only. */
export const FAILING_AGAIN_MS = 10_000;

/**
 * The account is seen, and as many nodes as must agree serve this chain; what went wrong otherwise. One of three that names another chain
 * must not keep the coin closed after a restart, while swaps wait for it.
 */
export async function firstLook(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  user: string,
  chain: AccountChain,
  address: EvmAddress,
  signal: AbortSignal,
  failingMs = FAILING_MS,
): Promise<EvmEnableError | null> {
  const foreign = () => chain.status().nodes.filter((node) => node.state === "refused");
  const isForeign = (): boolean => foreign().length * 2 >= chain.status().nodes.length && foreign().length > 0;
  const failing = whenFailing(withoutAnswer(chain), clock, failingMs);
  const wrongChain = new AbortController();
  const off = chain.onChange(() => {
    // Waiting would not help.
    if (isForeign()) wrongChain.abort();
  });
  let failed: EvmEnableError | null = null;
  try {
    const parents = [signal, failing.signal, wrongChain.signal];
    await withDeadline(clock, FIRST_BALANCE_MS, parents, (s) => chain.watchAccount(address, s));
    if (!chain.account(address) || !chain.gasPrices()) failed = unreached(user, "the nodes gave no balance or no price of gas");
  } catch (cause) {
    if (!(cause instanceof Aborted) || signal.aborted) throw cause;
    failed = unreached(user, chain.status().error ?? "the nodes did not answer in time");
  } finally {
    off();
    failing.stop();
  }
  const list = foreign()
    .map((node) => `${node.name}: ${node.trouble}`)
    .join("; ");
  if (list !== "" && failed === null) log.warn("nodes_of_another_chain", { coin: user, nodes: list });
  if (!isForeign()) return failed;
  return { kind: "ChainMismatch", coin: user, reason: `a node of urls serves another chain: ${list}` };
}

/** Unreachable only while no node answers: where too few do, the others have as long as a balance, and one of two then carries on alone. */
const withoutAnswer = (chain: AccountChain): Parameters<typeof whenFailing>[0] => ({
  onChange: (listener) => chain.onChange(listener),
  status() {
    const status = chain.status();
    const answers = status.nodes.some(({ state }) => state === "good" || state === "lagging");
    return answers && status.state === "unreachable" ? { ...status, state: "starting" } : status;
  },
});

export const unreached = (coin: string, message: string): EvmEnableError => ({ kind: "DaemonFailed", coin, message });
