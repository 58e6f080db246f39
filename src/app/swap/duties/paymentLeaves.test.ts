import { expect, test } from "vitest";
import { swapTerms } from "../../../../test/fakes/swapTerms.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import type { SwapTask } from "../swapTask.ts";
import { mayTellPayment, ownPayments } from "./paymentLeaves.ts";

const CONFIRMED_BY = 400;
const REVEAL_BY = 800;
const NOT_AFTER = 300;
const TAKER_LOCK = 1_000;
const [KEY, OTHER_KEY] = [`02${"11".repeat(32)}`, `02${"12".repeat(32)}`];
const NEGOTIATED = { theirStartedAt: 0, theirLocktime: 0, makerCoinPub: KEY, takerCoinPub: KEY, secretHash: "22".repeat(20) };
const fee = { txid: "fee", raw: "01", attempted: true };
const payment = { txid: "payment", raw: "02", attempted: true, notAfter: NOT_AFTER };

type Case = {
  readonly role?: "maker" | "taker";
  readonly own: object;
  /** Beside the maker's payment. */
  readonly facts?: object;
  readonly nowSec?: number;
  /** By the blocks of the maker's chain. */
  readonly chainSec?: number;
  readonly isKnown?: boolean;
  /** It is in a block, as they show it, which somebody denies. */
  readonly isDoubted?: boolean;
  /** The chain on which what the payment is for is. */
  readonly otherState?: string;
  /** The chain has the dex fee that the maker was told of. */
  readonly hasFee?: boolean;
  readonly isBuiltOnFee?: boolean;
  /** The coins have another key than the swap was agreed with. */
  readonly hasOtherKey?: boolean;
  /** Servers refuse the history of the own contract. */
  readonly isCrowded?: boolean;
  /** The maker's chain was looked at since the start. */
  readonly isCovered?: boolean;
  /** It has the maker's payment now, whatever the log says. */
  readonly hasTheirs?: boolean;
  /** What the contract says of a payment that no node shows. */
  readonly unfound?: string | null;
};

function given({
  role = "taker",
  own,
  facts = {},
  nowSec = NOT_AFTER,
  chainSec = 0,
  isKnown = false,
  isDoubted = false,
  isBuiltOnFee = true,
  otherState = "ready",
  hasFee = true,
  hasOtherKey = false,
  isCrowded = false,
  isCovered = true,
  hasTheirs = true,
  unfound = null,
}: Case): SwapTask {
  const status = () => ({ state: otherState, tip: { medianTimePastSec: chainSec } });
  const there: Readonly<Record<string, boolean>> = { fee: hasFee, theirs: hasTheirs };
  const shown = { block: isDoubted ? {} : null };
  const tx = (txid: string) => (there[txid] ? { block: {} } : isKnown && !(txid in there) ? shown : undefined);
  const crowded = () => (isCrowded ? "read" : null);
  const chain = { tx, status, crowded, confirmations: () => 0, unfound: () => null };
  const htlcPubkey = fromHex(hasOtherKey ? OTHER_KEY : KEY);
  const coin = { htlcPubkey, spends: () => isBuiltOnFee, sameTx: () => true, contractScript: () => new Uint8Array(23), chain };
  const other = { ...coin, chain: { ...chain, unfound: () => unfound } };
  const times = () => ({ makerPaymentConfirmedBy: CONFIRMED_BY, revealBy: REVEAL_BY, takerLock: TAKER_LOCK });
  const known = role === "taker" ? { makerPayment: { txid: "theirs", confirmed: true } } : {};
  const terms = { ...swapTerms(role, { myMakerCoinPub: KEY, myTakerCoinPub: KEY }), dexFeePubkey: "02" };
  const state = { own, facts: { ...known, ...facts }, received: { fee }, terms, negotiated: NEGOTIATED };
  const deps = role === "maker" ? { makerCoin: coin, takerCoin: other } : { makerCoin: other, takerCoin: coin };
  const told = { covered: new Set(isCovered ? ["maker"] : []), doubted: { has: () => isDoubted } };
  const coinOf = (side: string) => (side === role ? coin : other);
  return { state, deps, ...told, coin: coinOf, times, nowSec: () => nowSec } as unknown as SwapTask;
}

test.each<readonly [string, Case, readonly string[]]>([
  ["nothing was signed", { own: { fee } }, []],
  ["the payment has not left", { own: { fee, takerPayment: { ...payment, attempted: false } } }, []],
  ["it has", { own: { fee, takerPayment: payment } }, ["fee", "payment"]],
  ["it is not built on the fee", { own: { fee, takerPayment: payment }, isBuiltOnFee: false }, ["payment"]],
  ["a maker's", { role: "maker", own: { makerPayment: payment } }, ["payment"]],
  ["a maker's, and the dex fee has gone", { role: "maker", own: { makerPayment: payment }, hasFee: false }, []],
  ["nobody tells whether the maker's stands", { own: { fee, takerPayment: payment }, otherState: "unreachable" }, []],
  ["the maker's has gone", { own: { fee, takerPayment: payment }, facts: { makerPayment: undefined } }, []],
  ["nobody has looked for the maker's since the start", { own: { fee, takerPayment: payment }, isCovered: false }, []],
  ["the maker's has gone, which the log does not say yet", { own: { fee, takerPayment: payment }, hasTheirs: false }, []],
  [
    "no node shows the maker's, and its contract has it",
    { own: { fee, takerPayment: payment }, hasTheirs: false, unfound: "unspent" },
    ["fee", "payment"],
  ],
  ["it could be neither claimed nor taken back with the keys of now", { own: { fee, takerPayment: payment }, hasOtherKey: true }, []],
  ["what becomes of it would be seen late", { own: { fee, takerPayment: payment }, isCrowded: true }, []],
  ["it would, and the servers show it", { own: { fee, takerPayment: payment }, isCrowded: true, isKnown: true }, ["fee", "payment"]],
  [
    "nobody was seen to use it, the maker's has gone, and the claim of that is in no block",
    { own: { fee, takerPayment: payment, makerPaymentSpend: { attempted: true } }, facts: { makerPayment: undefined } },
    [],
  ],
  [
    "the claim of the maker's is in a block",
    {
      own: { fee, takerPayment: payment, makerPaymentSpend: { attempted: true } },
      facts: { makerPayment: undefined, makerPaymentSpend: { block: {} } },
    },
    ["fee", "payment"],
  ],
  [
    "it has, and a server took it just now",
    {
      own: { fee, takerPayment: payment },
      facts: { makerPayment: undefined, takerPayment: { txid: "payment", block: null } },
    },
    [],
  ],
  [
    "it has, and a block that somebody denies has it",
    { own: { fee, takerPayment: payment }, facts: { makerPayment: undefined }, isKnown: true, isDoubted: true },
    [],
  ],
  [
    "it has, and the servers show it",
    { own: { fee, takerPayment: payment }, facts: { makerPayment: undefined }, isKnown: true },
    ["fee", "payment"],
  ],
  ["its time is over", { own: { fee, takerPayment: payment }, nowSec: NOT_AFTER + 1 }, []],
  ["it is by the chain, and this node's clock is behind", { own: { fee, takerPayment: payment }, chainSec: TAKER_LOCK }, []],
  ["the servers show it", { own: { fee, takerPayment: payment }, isKnown: true, nowSec: REVEAL_BY }, ["fee", "payment"]],
  ["they do so for too long", { own: { fee, takerPayment: payment }, isKnown: true, nowSec: REVEAL_BY + 1 }, []],
  ["they show a maker's for too long", { role: "maker", own: { makerPayment: payment }, isKnown: true, nowSec: CONFIRMED_BY + 1 }, []],
  ["it can never confirm", { own: { fee, takerPayment: payment }, facts: { cancel: { confirmed: true } } }, []],
  ["a cancellation is signed", { own: { fee, takerPayment: payment, cancel: { txid: "cancel", raw: "03", attempted: false } } }, []],
  ["it has left", { own: { fee, takerPayment: payment, cancel: { txid: "cancel", raw: "03", attempted: true } } }, ["cancel"]],
])("what servers that are visited get of a payment: %s", (_, state, expected) => {
  expect(ownPayments(given(state)).map(({ txid }) => txid)).toEqual(expected);
});

const own = { fee, takerPayment: payment };
const wasTaken = { takerPayment: { txid: "payment", block: null } };

test.each<readonly [string, Case, boolean]>([
  ["nobody has it, in time", { own }, true],
  ["nobody has it, and its time is over", { own, nowSec: NOT_AFTER + 1 }, false],
  ["a backend took it, in the window", { own, facts: wasTaken, nowSec: REVEAL_BY }, true],
  ["a backend took it, and the window is over", { own, facts: wasTaken, nowSec: REVEAL_BY + 1 }, false],
  ["it is shown", { own, isKnown: true, nowSec: REVEAL_BY }, true],
  ["by the maker's chain that is back already, though a backend took it", { own, facts: wasTaken, chainSec: TAKER_LOCK }, false],
  ["by the maker's chain that is back already, though it is shown", { own, isKnown: true, chainSec: TAKER_LOCK }, false],
  ["the maker's has gone", { own, hasTheirs: false }, false],
  ["nobody has looked for the maker's since the start", { own, isCovered: false }, false],
])("whether the maker is told of the taker's payment: %s", (_, state, expected) => {
  expect(mayTellPayment(given(state))).toBe(expected);
});
