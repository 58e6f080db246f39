import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { recordedStatuses } from "../../../test/vectors/swaps/swapVectors.ts";
import { recordedSwaps } from "../../../test/vectors/utxo/utxoVectors.ts";
import { parseCoinEntry } from "../../core/coin/coinEntry.ts";
import { profileOfNetid } from "../../core/network/networkProfile.ts";
import { duties } from "../../core/swap/duties.ts";
import { ownPayment, type Role, type TimedKdfEvent } from "../../core/swap/events.ts";
import { kdfStatus } from "../../core/swap/kdfStatus.ts";
import { fold } from "../../core/swap/swapState.ts";
import { type ImportCoins, importCoinOf } from "./importCoin.ts";
import { planSwapImport } from "./planSwapImport.ts";
import { parseSavedSwap } from "./savedSwap.ts";

/** Swaps two KDF nodes made (test/vectors/swaps), taken over as they ended and at each event before. */

const NOT_SAVED = ["my_info", "recoverable", "is_finished", "is_success"];
const NOW_MS = 1_800_000_000_000;
type Json = { readonly [key: string]: unknown };

const saved = (status: Json): Json => Object.fromEntries(Object.entries(status).filter(([key]) => !NOT_SAVED.includes(key)));

/** The status of one side as `my_swap_status` gave it, but for the times of its events. */
function statusOf(uuid: string, role: Role): Json & { readonly events: readonly TimedKdfEvent[] } {
  const side = recordedStatuses.swaps.find((s) => s.uuid === uuid)?.[role];
  const lists = recordedStatuses.lists[role];
  const swap = recordedSwaps.find((s) => s.uuid === uuid);
  if (!side || !swap) throw new Error("not recorded");
  const txs = Object.values(swap).flatMap((v) => (typeof v === "object" && v !== null && "txid" in v ? [v] : []));
  const filled = (data: unknown): unknown => {
    if (typeof data !== "object" || data === null || Array.isArray(data)) return data;
    if ("tx" in data) return { tx_hex: txs.find((t) => t.txid === data.tx)?.hex, tx_hash: data.tx };
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, filled(value)]));
  };
  const events = side.events.map(([type, data], i) => ({
    timestamp: 1_795_231_420_000 + i,
    event: { type, ...(data === undefined ? {} : { data: filled(data) }) },
  }));
  const all: Json = { ...side.rest, events, success_events: lists.success_events, error_events: lists.error_events };
  return Object.fromEntries(lists.keys.map((key) => [key, all[key]])) as never;
}

function coinsOf(status: { readonly events: readonly TimedKdfEvent[] }): { readonly coins: ImportCoins; readonly ownKey: string } {
  const ownKey = String((status.events[0]?.event.data as Json | undefined)?.my_persistent_pub);
  const coins: ImportCoins = (ticker) => {
    const entry = parseCoinEntry({
      coin: ticker,
      pubtype: 111,
      p2shtype: 196,
      mm2: 1,
      txfee: 1_000,
      is_testnet: true,
      protocol: { type: "UTXO" },
    });
    return entry.ok ? importCoinOf(entry.value, ownKey, profileOfNetid(9_998).safety) : "bad test coin";
  };
  return { coins, ownKey };
}

const SIDES = recordedStatuses.swaps.flatMap(({ uuid }) => (["maker", "taker"] as const).map((role) => ({ uuid, role })));

describe.each(SIDES)("swap $uuid of KDF, $role", ({ uuid, role }) => {
  const status = statusOf(uuid, role);
  const { coins, ownKey } = coinsOf(status);
  const plan = (events: readonly TimedKdfEvent[], change: Json = {}) => {
    const swap = parseSavedSwap({ ...saved(status), events, ...change }, null);
    if (!swap.ok) throw new Error(swap.error.reason);
    return planSwapImport(swap.value, coins, ownKey, NOW_MS);
  };

  test("its fee, received or paid, serves no other swap", () => {
    const [name, taken] = [role === "maker" ? "TakerFeeValidated" : "TakerFeeSent", plan(status.events)];
    const fee = (status.events.find(({ event }) => event.type === name)?.event.data as Json | undefined)?.tx_hash;
    const marks = "marks" in taken ? taken.marks.filter(({ kind }) => kind === "fee_tx") : expect.fail("not taken over");
    expect(marks).toEqual(fee === undefined ? [] : [{ kind: "fee_tx", value: fee }]);
  });

  test("as it ended it is history, and its status is what KDF answered", () => {
    const ended = plan(status.events);
    if (ended.plan !== "history") throw new Error(ended.plan);
    const shown = kdfStatus(ended.kept);
    const key = role === "maker" ? "taker" : "maker";
    // The one field 3.0.0 hides and this version, 2.5.1, does not.
    const [first, ...rest] = status.events;
    const hidden = {
      timestamp: first?.timestamp,
      event: { type: "Started", data: { ...(first?.event.data as Json), [key]: "0".repeat(64) } },
    };
    expect(shown).toEqual({ ...status, events: [hidden, ...rest] });
    expect(Object.keys(shown)).toEqual(Object.keys(status));
  });

  test("cut after any event it goes on from there, its transactions as KDF sent them, and no payment is ever due", () => {
    const at = status.events.findIndex((e) => e.event.type === "Negotiated");
    for (let n = at + 1; n < status.events.length; n++) {
      const cut = plan(status.events.slice(0, n));
      const last = String(status.events[n - 1]?.event.type);
      if (cut.plan !== "open") throw new Error(`${last}: ${JSON.stringify(cut)}`);
      const state = fold(cut.log.map((e) => e.event));
      const wanted = duties(state).map((d) => d.do);
      expect(wanted, last).not.toEqual(expect.arrayContaining(["pay"]));
      expect(wanted, last).not.toEqual(expect.arrayContaining(["pay_fee"]));
      const isPaid = status.events.slice(0, n).some((e) => e.event.type === (role === "maker" ? "MakerPaymentSent" : "TakerPaymentSent"));
      expect([last, state.own[ownPayment(role)] !== undefined]).toEqual([last, isPaid]);
      expect([last, wanted.includes("seek"), wanted.includes("refund")]).toEqual([last, !isPaid, isPaid]);
      expect(wanted, last).toContain("observe");
    }
  });

  test("no event is of later than now, whatever the file says: time would be held to have passed", () => {
    const early = NOW_MS - 10 * 365 * 86_400_000;
    const swap = parseSavedSwap({ ...saved(status), events: status.events.slice(0, -1) }, null);
    if (!swap.ok) throw new Error(swap.error.reason);
    const cut = planSwapImport(swap.value, coins, ownKey, early);
    expect(cut.plan === "open" && cut.log.every((e) => e.atMs === early)).toBe(true);
  });

  test("a payment of another value, to another key or with a changed byte is not taken for KDF's own", () => {
    const sent = role === "maker" ? "MakerPaymentSent" : "TakerPaymentSent";
    const until = status.events.slice(0, status.events.findIndex((e) => e.event.type === sent) + 1);
    const start = status.events[0]?.event.data as Json;
    const withStart = (change: Json): TimedKdfEvent[] => [
      { timestamp: 1, event: { type: "Started", data: { ...start, ...change } } },
      ...until.slice(1),
    ];
    const amount = role === "maker" ? "maker_amount" : "taker_amount";
    expect(plan(withStart({ [amount]: "0.9" }))).toMatchObject({
      plan: "leave",
      reason: expect.stringContaining("does not pay what was agreed"),
    });
    expect(plan(withStart({ lock_duration: 7_801 }))).toMatchObject({ plan: "leave", reason: expect.stringContaining("lock time") });
    const other = `02${"11".repeat(32)}`;
    expect(plan(withStart({ maker_coin_htlc_pubkey: other }))).toMatchObject({
      plan: "leave",
      reason: expect.stringContaining("keys are not those"),
    });
    const changed = until.map((e) => {
      const data = e.event.data as { tx_hex: string; tx_hash: string };
      return e.event.type === sent
        ? { ...e, event: { ...e.event, data: { ...data, tx_hex: data.tx_hex.replace(/.$/, (c) => (c === "0" ? "1" : "0")) } } }
        : e;
    });
    expect(plan(changed)).toMatchObject({ plan: "leave", reason: expect.stringContaining("are not the transaction") });
  });
});

const SHARED = process.env.SWAPNODE_SHARED ?? fileURLToPath(new URL("../../../../shared", import.meta.url));
const captures = join(SHARED, "reference/swap-captures.json");
const hasShared = existsSync(captures);
test.skipIf(!hasShared)(`every status of the captures is shown again to the letter${hasShared ? "" : " (skipped: no shared data)"}`, () => {
  const { swaps } = JSON.parse(readFileSync(captures, "utf8")) as { swaps: { my_swap_status_maker: Json; my_swap_status_taker: Json }[] };
  const statuses = swaps.flatMap((s) => [s.my_swap_status_maker, s.my_swap_status_taker]);
  expect(statuses).toHaveLength(6);
  for (const status of statuses) {
    const swap = parseSavedSwap(saved(status), null);
    if (!swap.ok) throw new Error(swap.error.reason);
    const cover = (text: string): string => text.replace(/"(maker|taker)":"[0-9a-f]{64}"/g, '"$1":"hidden"');
    expect(cover(JSON.stringify(kdfStatus(swap.value.kept)))).toBe(cover(JSON.stringify(status)));
  }
});
