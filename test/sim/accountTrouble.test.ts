import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role, Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { type Books, books } from "./accountAudit.ts";
import { onSend } from "./accountMeddling.ts";
import { runSwap } from "./accountRun.ts";
import { type AccountWorld, accountWorld, ETH, type Ticker, TOKEN, UTXO } from "./accountTrade.ts";

const SEED = 20_241_127;
const MINUTE_MS = 60_000;
const TIMEOUT_MS = 120_000;

let t: AccountWorld;
let before: Books;
afterEach(() => t.world.close());
const chain = () => t.world.accountChain(ETH);

async function open(pollMs = 5_000): Promise<void> {
  t = await accountWorld({ seed: SEED, pollMs });
  before = books(t);
}

const run = (base: Ticker, rel: Ticker, allowances?: bigint): Promise<string> => runSwap(t, before, base, rel, allowances);

type Outage = readonly [Ticker, Ticker, Role, SwapEvent["type"], Slot | undefined, string];
test.each([
  // The secret never left, so both take their own back.
  [UTXO, ETH, "maker", "tx_signed", "takerPaymentSpend", "refunded refunded"],
  // The maker has the payment by message and sends it itself.
  [UTXO, TOKEN, "taker", "tx_signed", "takerPayment", "success success"],
  // The taker has its claim out only when its nodes are back, still before the maker's lock.
  [TOKEN, ETH, "taker", "secret_learned", undefined, "success success"],
] as const satisfies readonly Outage[])(
  "%s for %s: the %s's nodes are away for three hours from %s %s on: %s ends without loss",
  async (base, rel, who, type, slot, ends) => {
    await open(15_000);
    let begun = false;
    t[who].onEvent = (event) => {
      if (begun || event.type !== type || ("slot" in event ? event.slot : undefined) !== slot) return;
      begun = true;
      t[who].link(ETH).fault({ kind: "http_500" }, { forMs: 3 * HOUR_MS });
    };
    expect(await run(base, rel, 4_000_000n)).toBe(ends);
    expect(begun).toBe(true);
  },
  TIMEOUT_MS,
);

test.each([
  [UTXO, ETH, "taker"],
  [TOKEN, UTXO, "maker"],
] as const)(
  "%s for %s: the %s's refund is raised at its nonce when gas jumps fiftyfold under it",
  async (base, rel, who) => {
    await open(15_000);
    const nonces: bigint[] = [];
    onSend(
      t[who],
      "refund",
      ({ tx }) => {
        nonces.push(tx.nonce);
        if (nonces.length === 1) chain().spike(50n, 6 * HOUR_MS, true);
      },
      "before",
      100,
    );
    const gone = who === "taker" ? "takerPaymentSpend" : "takerPayment";
    t[who === "taker" ? "maker" : "taker"].storeFault = (_uuid, { event }) =>
      event.type === "tx_signed" && event.slot === gone ? "refuse" : undefined;
    expect(await run(base, rel)).toBe(who === "taker" ? "refunded refunded" : "refunded failed");
    expect(new Set(nonces).size).toBe(1);
    expect(nonces.length).toBeGreaterThan(1);
  },
  TIMEOUT_MS,
);

test(
  "nodes whose logs have no events for half an hour hold a swap up and end none wrong",
  async () => {
    await open();
    for (const node of [t.maker, t.taker]) node.link(ETH).hasNoLogs = true;
    t.world.clock.after(30 * MINUTE_MS, () => {
      for (const node of [t.maker, t.taker]) node.link(ETH).hasNoLogs = false;
    });
    expect(await run(ETH, TOKEN)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each([
  [UTXO, ETH, "maker"],
  [UTXO, TOKEN, "maker"],
  [TOKEN, UTXO, "taker"],
  [ETH, TOKEN, "taker"],
] as const)("%s for %s: the %s's claim is raised at its nonce when gas jumps fiftyfold under it", async (base, rel, who) => {
  await open();
  const nonces = new Set<bigint>();
  let versions = 0;
  let spikes = 0;
  onSend(
    t[who],
    "claim",
    ({ tx }) => {
      nonces.add(tx.nonce);
      versions++;
      if (spikes++ === 0) chain().spike(50n, 2 * HOUR_MS, true);
    },
    "before",
    100,
  );
  expect(await run(base, rel)).toBe("success success");
  expect(nonces.size).toBe(1);
  expect(versions).toBeGreaterThan(1);
});
