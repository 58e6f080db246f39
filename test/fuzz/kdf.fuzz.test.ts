import { expect, test } from "vitest";
import { eventToText, parseEventText } from "../../src/adapters/sqlite/storedEvent.ts";
import { importCoinOf } from "../../src/app/kdf/importCoin.ts";
import { parseKdfEnded, parseKdfMaker, parseKdfTaker } from "../../src/app/kdf/kdfOrders.ts";
import { planSwapImport } from "../../src/app/kdf/planSwapImport.ts";
import { parseSavedSwap } from "../../src/app/kdf/savedSwap.ts";
import { orderToRecord, parseOrderRecord } from "../../src/app/orders/orderRecord.ts";
import { parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import { parseRationalValue } from "../../src/core/money/rationalValue.ts";
import { profileOfNetid } from "../../src/core/network/networkProfile.ts";
import { duties } from "../../src/core/swap/duties.ts";
import { kdfStatus } from "../../src/core/swap/kdfStatus.ts";
import { fold } from "../../src/core/swap/swapState.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { kdfMaker, kdfSwap, kdfTaker, SECRET } from "../fakes/kdfFolder.ts";
import { mutateText, RUNS, SEED, source, watchMemory } from "./support/fuzz.ts";

const KEY = "024d4b6cd1361032ca9bd2aeb9d900aa4d45d9ead80ac9423374c451a7254d0766";
const entry = parseCoinEntry({ coin: "DOC", pubtype: 60, txfee: 1_000, protocol: { type: "UTXO" } });
const coin = entry.ok ? importCoinOf(entry.value, KEY, profileOfNetid(9_998).safety) : "bad";
if (typeof coin === "string") throw new Error("bad test coin");

/** A swap as the import takes it: planned, and shown as it would be shown. */
function takeSwap(json: unknown): { readonly ok: boolean; readonly shown?: string } {
  const swap = parseSavedSwap(json, null);
  if (!swap.ok) return swap;
  const plan = planSwapImport(swap.value, () => coin, KEY, 1_800_000_000_000);
  if (plan.plan === "history") return { ok: true, shown: JSON.stringify(kdfStatus(plan.kept)) };
  if (plan.plan === "leave") return { ok: true, shown: plan.reason };
  expect(duties(fold(plan.log.map((e) => e.event))).some((d) => d.do === "pay" || d.do === "pay_fee")).toBe(false);
  // What is stored must be read again: a row that is not ends the swap's day here.
  for (const event of plan.log) expect(parseEventText(eventToText(event))).toMatchObject({ ok: true });
  return { ok: true, shown: JSON.stringify(swapStatus(plan.log)) };
}

/** An order that is taken must be one the store reads again. */
const takeOrder = (parse: typeof parseKdfMaker) => (json: unknown) => {
  const order = parse(json);
  if (order.ok) expect(parseOrderRecord(orderToRecord(order.value)).kind).toBe(order.value.kind);
  return order.ok ? { ok: true } : { ok: false, shown: order.error.reason };
};

const READERS: readonly (readonly [
  name: string,
  json: object,
  read: (json: unknown) => { readonly ok: boolean; readonly shown?: string },
])[] = [
  ["ended swap", kdfSwap(), takeSwap],
  ["maker's open swap", kdfSwap({ key: KEY, coins: ["DOC", "DOC"], events: ["Negotiated", "TakerFeeValidated"] }), takeSwap],
  ["taker's open swap", kdfSwap({ key: KEY, role: "Taker", events: ["Negotiated", "TakerPaymentInstructionsReceived"] }), takeSwap],
  ["maker's order", kdfMaker(1, {}, [["1.5", true]]), takeOrder(parseKdfMaker)],
  ["taker's order", kdfTaker(1), takeOrder(parseKdfTaker)],
  ["ended order", { type: "Maker", order: kdfMaker(1) }, takeOrder(parseKdfEnded)],
  [
    "fraction",
    [
      [1, [1, 2]],
      [1, [3]],
    ],
    (json) => ({ ok: parseRationalValue(json) !== null }),
  ],
];

test.each(READERS)(
  `KDF's %s: ${RUNS} damaged texts (seed ${SEED}) are taken or refused, never thrown at, and show no secret`,
  (_, json, read) => {
    expect(read(json).ok).toBe(true);
    const text = JSON.stringify(json);
    const next = source(SEED);
    const memory = watchMemory();
    for (let i = 0; i < RUNS; i++) {
      memory.tick();
      let damaged: unknown;
      try {
        damaged = JSON.parse(mutateText(text, next));
      } catch {
        continue; // no JSON: the reader of the folder refuses it
      }
      expect(read(damaged).shown ?? "").not.toContain(SECRET);
    }
    memory.check();
  },
  120_000,
);
