import type { StoredEvent } from "../core/swap/events.ts";
import type { KeptSwap } from "../core/swap/kdfStatus.ts";
import { whyKeptNotRecoverable, whyNotRecoverable } from "../core/swap/recovery.ts";
import { fold } from "../core/swap/swapState.ts";
import { err } from "../core/util/result.ts";
import type { SwapsApi } from "../rpc/ctx/swaps.ts";

/**
 * `recover_funds_of_swap` for swaps of this node. The checks in KDF's order (reference rpc.md 5.3); past them nothing is left to
 * do, and the answer says why.
 */
export const recoverFunds =
  (
    logOf: (uuid: string) => Promise<readonly StoredEvent[] | null>,
    isActive: (ticker: string) => boolean,
    endedElsewhere: (uuid: string) => Promise<KeptSwap | null>,
  ): SwapsApi["recoverFunds"] =>
  async (uuid) => {
    const log = await logOf(uuid);
    const kept = log ? null : await endedElsewhere(uuid);
    if (kept) return err({ kind: "NotRecoverable", reason: whyKeptNotRecoverable(kept) });
    if (!log) return err({ kind: "SwapNotFound" });
    const state = fold(log.map(({ event }) => event));
    const { makerCoin, takerCoin } = state.terms;
    const missing = [makerCoin, takerCoin].find((ticker) => !isActive(ticker));
    if (missing !== undefined) return err({ kind: "CoinNotActive", coin: missing });
    if (state.finished === null) return err({ kind: "SwapNotFinished" });
    return err({ kind: "NotRecoverable", reason: whyNotRecoverable(state) });
  };
