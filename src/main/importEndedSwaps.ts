import { planSwapImport } from "../app/kdf/planSwapImport.ts";
import { parseSavedSwap } from "../app/kdf/savedSwap.ts";
import type { SwapRunner } from "../app/swap/swapRunner.ts";
import type { Clock } from "../ports/clock.ts";
import { StorageError } from "../ports/sql.ts";
import type { SwapStore } from "../ports/swapStore.ts";
import type { SwapsApi } from "../rpc/ctx/swaps.ts";

const OPEN = "money may be in it: take it over with swapnode import-kdf";

/**
 * `import_swaps`: saved swaps that are over into the history. One money may be in is not begun here while whoever has it may be
 * running it: two nodes on one swap pay twice.
 */
export const importEndedSwaps =
  (store: SwapStore, runner: Pick<SwapRunner, "has" | "addEnded">, clock: Clock): SwapsApi["importEnded"] =>
  async (swaps) => {
    const imported: string[] = [];
    const skipped = new Map<string, string>();
    for (const [i, json] of swaps.entries()) {
      const swap = parseSavedSwap(json, null);
      if (!swap.ok) {
        skipped.set(nameOf(json) ?? `swaps[${i}]`, swap.error.reason);
        continue;
      }
      const { uuid } = swap.value;
      const plan = planSwapImport(swap.value, () => OPEN, "", clock.nowMs());
      if (runner.has(uuid)) skipped.set(uuid, "this node has a swap of this uuid");
      else if (swap.value.summary.finished !== true || plan.plan !== "history" || plan.note !== null) skipped.set(uuid, OPEN);
      else {
        try {
          await store.addEnded([plan]);
          runner.addEnded(uuid);
          imported.push(uuid);
        } catch (cause) {
          if (!(cause instanceof StorageError)) throw cause;
          skipped.set(uuid, cause.kind === "Constraint" ? "this node has a swap of this uuid" : "it could not be stored");
        }
      }
    }
    return { imported, skipped };
  };

const nameOf = (json: unknown): string | null =>
  typeof json === "object" && json !== null && "uuid" in json && typeof json.uuid === "string" ? json.uuid.slice(0, 36) : null;
