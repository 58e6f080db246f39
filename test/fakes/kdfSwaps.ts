import { takenOverStatements } from "../../src/adapters/sqlite/swapStore.ts";
import { importCoinOf } from "../../src/app/kdf/importCoin.ts";
import { planSwapImport, type SwapPlan } from "../../src/app/kdf/planSwapImport.ts";
import { parseSavedSwap } from "../../src/app/kdf/savedSwap.ts";
import { deriveSwapSecret } from "../../src/core/keys/swapSecret.ts";
import { profileOfNetid } from "../../src/core/network/networkProfile.ts";
import type { TimedKdfEvent } from "../../src/core/swap/events.ts";
import { fold } from "../../src/core/swap/swapState.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { SwapSide, SwapWorld } from "./swapWorld.ts";

const NOT_SAVED = ["my_info", "recoverable", "is_finished", "is_success", "swapnode"];
type Saved = { events: TimedKdfEvent[]; [key: string]: unknown };

/** A swap of this node as the file KDF would have of it, secret included. */
export async function asKdfFile(side: SwapSide, uuid: string): Promise<Saved> {
  const log = await side.events(uuid);
  const { terms } = fold(log.map((e) => e.event));
  const saved = JSON.parse(
    JSON.stringify(Object.fromEntries(Object.entries(swapStatus(log)).filter(([key]) => !NOT_SAVED.includes(key)))),
  ) as Saved;
  const data = saved.events[0]?.event.data as Record<string, unknown>;
  data[terms.role === "maker" ? "taker" : "maker"] = terms.counterparty.slice(2);
  if (terms.secretSalt !== null) data.secret = toHex(deriveSwapSecret(side.key.secret, terms.startedAt, terms.secretSalt).reveal());
  return saved;
}

/** The file with its events up to the one of this name. */
export const cutAfter = (saved: Saved, last: string): Saved => {
  const at = saved.events.findIndex((e) => e.event.type === last);
  if (at < 0) throw new Error(`no ${last} in ${saved.events.map((e) => e.event.type).join(", ")}`);
  return { ...saved, events: saved.events.slice(0, at + 1) };
};

export function planFor(world: SwapWorld, side: SwapSide, saved: unknown): SwapPlan {
  const swap = parseSavedSwap(saved, null);
  if (!swap.ok) throw new Error(swap.error.reason);
  const pubkey = toHex(side.key.publicKey);
  return planSwapImport(
    swap.value,
    (ticker) => {
      const entry = world.entries.get(ticker);
      return entry ? importCoinOf(entry, pubkey, profileOfNetid(9_998).safety) : `${ticker} is not traded`;
    },
    pubkey,
    world.clock.nowMs(),
  );
}

/** In place of this node's own record of a swap: what it takes over from KDF's file of it. The side must be stopped. */
export async function replaceByImport(world: SwapWorld, side: SwapSide, uuid: string, saved: Saved): Promise<SwapPlan> {
  const plan = planFor(world, side, saved);
  await side.db.write(
    ["swap_events", "swaps", "swap_marks"].map((table) => ({ sql: `DELETE FROM ${table} WHERE uuid = ?`, params: [uuid] })),
  );
  if (plan.plan === "open") await side.db.write(takenOverStatements(plan.summary, plan.log, plan.marks));
  if (plan.plan === "history") await side.store.addEnded([plan]);
  return plan;
}
