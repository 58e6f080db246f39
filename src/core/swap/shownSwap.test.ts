import fc from "fast-check";
import { expect, test } from "vitest";
import { recordedLogs } from "../../../test/vectors/eventLogs/eventLogs.ts";
import type { StoredEvent } from "./events.ts";
import { ShownSwap, type SwapStatus } from "./shownSwap.ts";
import { swapStatus } from "./swapStatus.ts";

/** Nothing that is a `ShownSwap` holds a secret, in no form, wherever it comes from. */

const seed = 20_261_122;
const STATUSES: readonly { readonly uuid: string; readonly status: SwapStatus }[] = recordedLogs.map(({ summary, events }) => ({
  uuid: summary.uuid,
  status: swapStatus(events.map((text) => JSON.parse(text) as StoredEvent)),
}));
const formsOf = (swap: ShownSwap): readonly string[] => [swap.text, swap.bareText, JSON.stringify(swap.status), JSON.stringify(swap.bare)];

type Timed = { readonly timestamp: number; readonly event: { readonly type: string; readonly data?: object } };
const eventsOf = (status: SwapStatus): readonly Timed[] => status.events as readonly Timed[];
/** The status with more in the data of its first event. */
const withStartData = (status: SwapStatus, more: object): SwapStatus => {
  const [first, ...others] = eventsOf(status);
  if (first?.event.type !== "Started") throw new Error("this swap has not started");
  return { ...status, events: [{ ...first, event: { ...first.event, data: { ...first.event.data, ...more } } }, ...others] };
};
const STARTED = STATUSES.filter(({ status }) => eventsOf(status)[0]?.event.type === "Started");

const hex32 = fc.stringMatching(/^[0-9a-f]{64}$/).filter((hex) => hex !== "0".repeat(64));
/** What of a node's secrets might come into the first event, by a mistake of ours. */
const leak = fc.oneof(
  fc.record({ secret: hex32 }),
  fc.record({ p2p_privkey: hex32 }),
  fc.record({ secret: hex32, p2p_privkey: fc.record({ priv: hex32, keys: fc.array(hex32, { minLength: 1 }) }) }),
);
const secretsIn = (value: object): readonly string[] => JSON.stringify(value).match(/[0-9a-f]{64}/g) ?? [];

test("a secret in the first event is in no form of what is shown, nor in what is kept", () => {
  console.info(`shown swaps: seed ${seed}`);
  fc.assert(
    fc.property(fc.constantFrom(...STARTED), leak, ({ uuid, status }, leaked) => {
      const shown = ShownSwap.of(withStartData(status, leaked));
      for (const text of [...formsOf(shown), shown.toKept(uuid) ?? ""])
        for (const secret of secretsIn(leaked)) expect(text).not.toContain(secret);
      expect(shown.status).toMatchObject({ events: [{ event: { data: { p2p_privkey: null } } }, ...eventsOf(status).slice(1)] });
    }),
    { numRuns: 300, seed },
  );
});

test("a kept text in which a secret is not blanked is none: neither of any first event nor of another", () => {
  fc.assert(
    fc.property(fc.constantFrom(...STARTED), leak, fc.nat(), ({ uuid, status }, leaked, at) => {
      expect(ShownSwap.ofKept(uuid, JSON.stringify(withStartData(status, leaked)))).toBeNull();
      const events = [...eventsOf(status)];
      events.splice(at % (events.length + 1), 0, { timestamp: 1, event: { type: "Negotiated", data: leaked } });
      expect(ShownSwap.ofKept(uuid, JSON.stringify({ ...status, events }))).toBeNull();
      // The name of the event behind its data, also after one that may show a secret.
      const odd = { timestamp: 1, event: { data: leaked, type: "Started" } };
      const learned = { timestamp: 1, event: { type: "TakerPaymentSpent", data: { transaction: {}, secret: "5e".repeat(32) } } };
      expect(ShownSwap.ofKept(uuid, JSON.stringify({ ...status, events: [learned] }))).not.toBeNull();
      expect(ShownSwap.ofKept(uuid, JSON.stringify({ ...status, events: [learned, odd] }))).toBeNull();
      expect(ShownSwap.ofKept(uuid, JSON.stringify({ ...status, ...leaked }))).toBeNull();
    }),
    { numRuns: 300, seed },
  );
});

test("every recorded status is kept and comes back in every form as it was, the secret a taker learned from the chain with it", () => {
  for (const { uuid, status } of STATUSES) {
    const shown = ShownSwap.of(status);
    const kept = shown.toKept(uuid);
    expect(kept).toBe(JSON.stringify(status));
    const again = ShownSwap.ofKept(uuid, kept ?? "");
    expect(again && formsOf(again)).toEqual(formsOf(shown));
    expect(again?.isMaker).toBe(status.type === "Maker");
  }
  const learned = STATUSES.filter(({ status }) => /"TakerPaymentSpent","data":\{"transaction"/.test(JSON.stringify(status)));
  expect(learned.length).toBeGreaterThan(1);
  for (const { status } of learned) expect(ShownSwap.of(status).text).toMatch(/"secret":"(?!0{64})[0-9a-f]{64}"/);
});

test("no text of the other side or of a coin makes two forms of a status differ, kept or not", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(',"my_info":', ',"swapnode":{', '"secret":"', '"p2p_privkey":', '{"type":"Started"', "\ud800", "\u2028\u0000é😀"),
  );
  fc.assert(
    fc.property(fc.constantFrom(...STATUSES), hostile, hostile, fc.boolean(), ({ uuid, status }, gui, said, isData) => {
      const failed = {
        timestamp: 1,
        event: { type: "StartFailed", data: isData ? { error: said, my_info: { [said]: gui } } : { error: said } },
      };
      const changed = { ...status, gui, maker_coin: said, events: [...eventsOf(status), failed] };
      const shown = ShownSwap.of(changed);
      const kept = shown.toKept(uuid);
      expect(kept).toBe(shown.text);
      const again = ShownSwap.ofKept(uuid, kept ?? "");
      expect(again && formsOf(again)).toEqual(formsOf(shown));
    }),
    { numRuns: 300, seed },
  );
});

test("a status whose forms could not be told apart in its text is not kept", () => {
  for (const { uuid, status } of STATUSES) {
    const { swapnode, ...others } = status;
    for (const changed of [
      { ...others, new_field: 1, swapnode },
      { ...status, swapnode: { outcome: null, swapnode: {} } },
      { ...status, swapnode: { outcome: null, my_info: null } },
      { ...status, swapnode: null },
    ])
      expect(ShownSwap.of(changed).toKept(uuid)).toBeNull();
  }
});

test("what is not the text of a status of ours of this swap is not shown as one", () => {
  for (const { uuid, status } of STATUSES) {
    const text = JSON.stringify(status);
    const { type, ...others } = status;
    for (const other of [
      "",
      "{",
      "null",
      "[]",
      text.slice(0, 1_000),
      JSON.stringify({ ...others, type }),
      JSON.stringify({ ...status, type: "Owner" }),
    ])
      expect(ShownSwap.ofKept(uuid, other)).toBeNull();
    expect(ShownSwap.ofKept("00000000-0000-4000-8000-00000000ffff", text)).toBeNull();
    // As KDF stores it: shown of its record each time.
    const { swapnode: _, ...kdf } = status;
    expect(ShownSwap.of(kdf).toKept(uuid)).toBeNull();
  }
});
