import { ShownSwap, type SwapStatus } from "../../../src/core/swap/shownSwap.ts";
import { err } from "../../../src/core/util/result.ts";
import type { RecoverError, SwapsApi } from "../../../src/rpc/ctx/swaps.ts";

export const FINISHED_SWAP = "aa2e902d-a810-4d81-aecb-202c8b037216";
/** Known to `recover_funds_of_swap` alone: one that runs, and one of a coin that is not enabled. */
export const RUNNING_SWAP = "bb2e902d-a810-4d81-aecb-202c8b037216";
const SWAP_OF_KMD = "cc2e902d-a810-4d81-aecb-202c8b037216";

const RECOVERIES: ReadonlyMap<string, RecoverError> = new Map<string, RecoverError>([
  [FINISHED_SWAP, { kind: "NotRecoverable", reason: "Maker payment is spent and confirmed, swap is not recoverable" }],
  [RUNNING_SWAP, { kind: "SwapNotFinished" }],
  [SWAP_OF_KMD, { kind: "CoinNotActive", coin: "KMD" }],
]);

const SWAP: SwapStatus = {
  type: "Taker",
  uuid: FINISHED_SWAP,
  my_order_uuid: FINISHED_SWAP,
  events: [
    {
      timestamp: 1_673_517_077_816,
      event: { type: "Started", data: { secret: "11".repeat(32), p2p_privkey: "a private key", uuid: FINISHED_SWAP } },
    },
    { timestamp: 1_673_517_115_194, event: { type: "Finished" } },
  ],
  maker_amount: "0.01",
  maker_coin: "MARTY",
  maker_coin_usd_price: null,
  taker_amount: "0.01",
  taker_coin: "DOC",
  taker_coin_usd_price: null,
  gui: "nogui",
  mm_version: "0.1.0",
  success_events: ["Started", "Finished"],
  error_events: ["StartFailed"],
  my_info: { my_coin: "DOC", other_coin: "MARTY", my_amount: "0.01", other_amount: "0.01", started_at: 1_673_517_076 },
  recoverable: false,
  is_finished: true,
  is_success: true,
};

/** One finished swap, or none. */
export function fakeSwaps(busy: boolean, kickStart: () => readonly string[]): SwapsApi {
  const swaps = new Map(busy ? [[FINISHED_SWAP, SWAP]] : []);
  const shown = new Map([...swaps].map(([uuid, status]) => [uuid, ShownSwap.of(status)]));
  return {
    status: async (uuid) => shown.get(uuid),
    statuses: async (uuids) => new Map([...shown].filter(([uuid]) => uuids.includes(uuid))),
    async page(filter, page, limit) {
      const found = [...swaps.values()]
        .filter((s) => filter.myCoin === undefined || filter.myCoin === s.taker_coin)
        .map((s) => String(s.uuid));
      if (found.length === 0) return { uuids: [], total: 0, skipped: 0 };
      const skipped = "after" in page ? found.indexOf(page.after) + 1 : page.skip;
      if ("after" in page && skipped === 0) return null;
      return { uuids: found.slice(skipped, skipped + limit), total: found.length, skipped };
    },
    active: () => [],
    coinsNeededForKickStart: kickStart,
    importEnded: async (given) => ({
      imported: [],
      skipped: new Map(given.map((s, i) => [nameOf(s) ?? `swaps[${i}]`, "money may be in it: take it over with swapnode import-kdf"])),
    }),
    recoverFunds: async (uuid) => err((busy && RECOVERIES.get(uuid)) || { kind: "SwapNotFound" }),
  };
}

const nameOf = (json: unknown): string | null =>
  typeof json === "object" && json !== null && "uuid" in json && typeof json.uuid === "string" ? json.uuid : null;
