import type { Block, Slot } from "../../../core/swap/events.ts";
import { keptBytes, MAX_FORMS } from "../../../core/swap/keptBytes.ts";
import type { SwapState } from "../../../core/swap/swapState.ts";
import type { SwapTask } from "../swapTask.ts";

const HOUR_SEC = 3_600;
/**
 * Sightings of one slot that are stored within an hour, and the pause between two beyond them. As many reorganisations of an honest chain
 * do not come in one; strangers can move a transaction from block to block for as long as the swap is open.
 */
const MAX_AN_HOUR = 20;
const PAUSE_SEC = 180;
/** More bytes than a transaction of a swap has, hex digits; and the pause between two of such beyond the first of a slot. */
const MANY_DIGITS = 20_000;
const LONG_PAUSE_SEC = 900;

export type Seen = { readonly slot: Slot; readonly txid: string; readonly raw: string; readonly block: Block | null };

/**
 * Stores that a transaction is seen, its bytes only where the log does not have them. The first transactions of a slot are stored at once,
 * for each form of a payment has a claim or refund of its own; others, and changes of block, so many times an hour. Until there is room
 * again what is seen counts as not seen, as after a reorganisation.
 * @returns whether it counts now
 */
export async function noteSeen(task: SwapTask, seen: Seen): Promise<boolean> {
  const { slot, txid, raw, block } = seen;
  const known = task.state.facts[slot];
  if (known?.txid === txid && known.block?.hash === block?.hash) return true;
  const isKept = (s: SwapState): boolean => raw !== "" && keptBytes(s, slot, txid) === raw;
  if (!mayStore(task, slot, raw === "" || isKept(task.state) ? 0 : raw.length)) return false;
  if (await task.emitIf(isKept, { type: "tx_seen", slot, txid, raw: "", block })) return true;
  await task.emit({ type: "tx_seen", slot, txid, raw, block });
  return true;
}

/** By the log, so that a restart makes no room. `digits`: of the bytes that it does not have. */
function mayStore(task: SwapTask, slot: Slot, digits: number): boolean {
  const now = task.nowSec();
  const stored = task.events.flatMap(({ event, atMs }) =>
    event.type === "tx_seen" && event.slot === slot ? [{ atSec: atMs / 1_000, hasBytes: event.raw !== "" }] : [],
  );
  const within = (sec: number): number => stored.filter(({ atSec }) => atSec > now - sec).length;
  const withBytes = stored.filter(({ hasBytes }) => hasBytes);
  if (digits > 0 && withBytes.length < MAX_FORMS) return true;
  if (digits > MANY_DIGITS && withBytes.some(({ atSec }) => atSec > now - LONG_PAUSE_SEC)) return false;
  return within(HOUR_SEC) < MAX_AN_HOUR || within(PAUSE_SEC) === 0;
}
