import { ownClaim, type Role, type Slot } from "../../core/swap/events.ts";
import type { SwapCoin } from "./swapCoin.ts";

/**
 * For so long what may not leave keeps the nonce it was signed with, seconds: a look at each chain and a question to the nodes may come
 * in between, and no other swap's claim waits for it longer than that.
 */
export const KEEPS_NONCE_SEC = 30;

/**
 * Whether what is signed and, by its log, never left may give its nonce back and be signed anew. A log that was put back to an older state says so of
 * what left, too, and nothing in a fee names its swap: it would be paid twice. Where a pool or a block has its nonce used it may have left, and nothing waits for it.
 * A claim pays once however often it is made.
 */
export const mayBeSignedAnew = (coin: SwapCoin, role: Role, slot: Slot, raws: readonly Uint8Array[]): boolean =>
  slot === ownClaim(role) || raws.some((raw) => coin.holdsUp?.(raw));
