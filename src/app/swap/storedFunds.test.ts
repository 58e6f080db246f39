import { beforeEach, expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import type { SwapEvent } from "../../core/swap/events.ts";
import { fold, type SwapState } from "../../core/swap/swapState.ts";
import { StoredFunds } from "./storedFunds.ts";
import type { SwapCoin } from "./swapCoin.ts";

const START = 1_700_000_000;
const UNTIL = START + 600;
const terms = swapTerms("maker", { makerCoin: "UTXO", takerCoin: "ACCOUNT" });
const SIGNED: SwapEvent = { type: "tx_signed", slot: "takerPaymentSpend", txid: "c1", raw: "c1", notAfter: UNTIL, fee: "1" };

let clock: VirtualClock;
let funds: StoredFunds;
let freed: number;
beforeEach(() => {
  clock = new VirtualClock(START * 1_000);
  funds = new StoredFunds(clock, new SilentLog());
  freed = 0;
});

const state = (...events: SwapEvent[]): SwapState => fold([{ type: "started", terms }, ...events]);
const coin = (): SwapCoin =>
  ({
    ticker: "ACCOUNT",
    spendsFrom: "account",
    lockInputs: () => undefined,
    lockNonce: () => undefined,
    freeNonce: () => void freed++,
    reserveAgain: () => [],
    reserveClaimAgain: () => ({ ok: true, value: { id: "held" } }),
    reserveTokenGas: () => null,
    adopt: () => undefined,
    release: () => undefined,
  }) as unknown as SwapCoin;

test("what never left gives its nonce back two minutes after it may not leave any more, while its swap waits", async () => {
  funds.add(terms.uuid, state(SIGNED));
  funds.take(coin());
  await clock.advance((600 + 119) * 1_000);
  expect(freed).toBe(0);
  await clock.advance(1_000);
  expect(freed).toBe(1);
});

test.each<readonly [string, (coin: SwapCoin) => void]>([
  ["its swap runs", (c) => void funds.handOver(terms.uuid, c, c)],
  [
    "its swap ran, and it left",
    (c) => {
      funds.handOver(terms.uuid, c, c);
      funds.add(terms.uuid, state(SIGNED, { type: "tx_attempted", slot: "takerPaymentSpend" }));
    },
  ],
  ["the node closes", () => funds.close()],
])("nothing gives its nonce back later when %s", async (_, meanwhile) => {
  funds.add(terms.uuid, state(SIGNED));
  const own = coin();
  funds.take(own);
  meanwhile(own);
  await clock.advance(3_600_000);
  expect(freed).toBe(0);
});

test("what left keeps its nonce, and so does what may leave at any time", async () => {
  funds.add(terms.uuid, state(SIGNED, { type: "tx_attempted", slot: "takerPaymentSpend" }));
  funds.take(coin());
  funds.add("other", state({ ...SIGNED, notAfter: null }));
  funds.take(coin());
  await clock.advance(3_600_000);
  expect(freed).toBe(0);
});
