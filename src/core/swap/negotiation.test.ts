import { expect, test } from "vitest";
import { swapVectors } from "../../../test/vectors/wire/wireVectors.ts";
import { isValidPubkey } from "../keys/keyPair.ts";
import { encodeSwapMessage } from "../message/swapMessage.ts";
import type { NegotiationData } from "../message/types.ts";
import { fromHex, toHex } from "../util/bytes.ts";
import type { Role, SwapTerms } from "./events.ts";
import { checkNegotiation, echoesSecretHash, negotiationErrorText, ownNegotiation } from "./negotiation.ts";
import { deadlines } from "./timelocks.ts";

// reference swap-protocol.md 10.1: keys of the secrets 01 x 32 and 02 x 32
const MAKER = "031b84c5567b126440995d3ed5aaba0565d71e1834604819ff9c17f5e9d5dd078f";
const TAKER = "024d4b6cd1361032ca9bd2aeb9d900aa4d45d9ead80ac9423374c451a7254d0766";
const HASH = "4d5209774e22ea63e2987579562d9a4ea3dab623";
const L = 7_800;
const START: { readonly [R in Role]: number } = { maker: 1_700_000_000, taker: 1_700_000_002 };

function terms(role: Role, change: Partial<SwapTerms> = {}): SwapTerms {
  const key = role === "maker" ? MAKER : TAKER;
  return {
    role,
    uuid: "11111111-2222-4333-8444-555555555555",
    myOrderUuid: "11111111-2222-4333-8444-555555555555",
    makerCoin: "DOC",
    takerCoin: "MARTY",
    makerAmount: "2/1",
    takerAmount: "1/100",
    makerUnits: "200000000",
    takerUnits: "1000000",
    makerConfs: 1,
    makerNota: false,
    takerConfs: 1,
    takerNota: false,
    lockDurationSec: L,
    startedAt: START[role],
    counterparty: role === "maker" ? TAKER : MAKER,
    myPersistentPub: key,
    myMakerCoinPub: key,
    myTakerCoinPub: key,
    secretSalt: role === "maker" ? 1 : null,
    secretHash: role === "maker" ? HASH : null,
    makerStartHeight: 1,
    takerStartHeight: 1,
    dexFeeUnits: "1287",
    dexBurnUnits: "0",
    dexFeePubkey: MAKER,
    fees: [],
    gui: null,
    version: "test",
    ...change,
  };
}

const offerOf = (change: Partial<Extract<NegotiationData, { version: 2 }>> = {}): NegotiationData => ({
  version: 2,
  startedAt: START.maker,
  paymentLocktime: START.maker + 2 * L,
  secretHash: fromHex(HASH),
  persistentPubkey: fromHex(MAKER),
  makerCoinContract: new Uint8Array(),
  takerCoinContract: new Uint8Array(),
  ...change,
});
const check = (data: NegotiationData, t = terms("taker")) => checkNegotiation(t, data, isValidPubkey);

test("offer and reply of the known swap are the known bytes", () => {
  const bytes = (role: Role, type: "Negotiation" | "NegotiationReply"): string =>
    toHex(encodeSwapMessage({ type, data: ownNegotiation(terms(role), { secretHash: HASH }) }));
  expect(Object.values(swapVectors)).toContain(bytes("maker", "Negotiation"));
  expect(Object.values(swapVectors)).toContain(bytes("taker", "NegotiationReply"));
});

test("version 3 is sent where the keys of the two coins differ, or are not the node's own, and names both", () => {
  const sent = ownNegotiation(terms("maker", { myTakerCoinPub: TAKER }), { secretHash: HASH });
  expect(sent).toMatchObject({ version: 3, makerCoinHtlcPub: fromHex(MAKER), takerCoinHtlcPub: fromHex(TAKER) });
  expect(ownNegotiation(terms("maker", { myPersistentPub: TAKER }), { secretHash: HASH }).version).toBe(3);
});

test("all three versions are understood: one key for both coins, or one for each", () => {
  const common = { startedAt: START.maker, paymentLocktime: START.maker + 2 * L, secretHash: fromHex(HASH) };
  const both = { makerCoinPub: MAKER, takerCoinPub: MAKER };
  expect(check({ version: 1, ...common, persistentPubkey: fromHex(MAKER) })).toMatchObject({ ok: true, value: both });
  expect(check(offerOf())).toMatchObject({ ok: true, value: both });
  const three = {
    version: 3,
    ...common,
    makerCoinContract: new Uint8Array(),
    takerCoinContract: new Uint8Array(),
    makerCoinHtlcPub: fromHex(TAKER),
    takerCoinHtlcPub: fromHex(MAKER),
  } as const;
  expect(check(three)).toMatchObject({ ok: true, value: { makerCoinPub: TAKER, takerCoinPub: MAKER } });
  // Each of the two must be a point of the curve: nobody could claim a payment to anything else.
  const noPoint = new Uint8Array(33);
  expect(check({ ...three, makerCoinHtlcPub: noPoint })).toMatchObject({ ok: false, error: { kind: "BadPubkey", which: "maker coin" } });
  expect(check({ ...three, takerCoinHtlcPub: noPoint })).toMatchObject({ ok: false, error: { kind: "BadPubkey", which: "taker coin" } });
});

test.each([
  ["a start 61 s later", { startedAt: START.taker + 61 }, "StartTimesDiffer"],
  ["a start of year zero", { startedAt: 0, paymentLocktime: 2 * L }, "StartTimesDiffer"],
  ["the greatest number for a start", { startedAt: Number.MAX_SAFE_INTEGER }, "StartTimesDiffer"],
  ["a lock a second short", { paymentLocktime: START.maker + 2 * L - 1 }, "WrongLocktime"],
  ["a lock a second long", { paymentLocktime: START.maker + 2 * L + 1 }, "WrongLocktime"],
  ["the taker's lock", { paymentLocktime: START.maker + L }, "WrongLocktime"],
  ["a contract", { makerCoinContract: new Uint8Array(20) }, "UnexpectedContract"],
  ["a key of zeros", { persistentPubkey: new Uint8Array(33) }, "BadPubkey"],
  ["a hash of 32 bytes", { secretHash: new Uint8Array(32) }, "BadSecretHash"],
  ["a hash of 19 bytes", { secretHash: new Uint8Array(19) }, "BadSecretHash"],
] as const)("an offer with %s is refused with a sentence", (_what, change, kind) => {
  const refused = check(offerOf(change));
  if (refused.ok) throw new Error("accepted");
  expect(refused.error.kind).toBe(kind);
  expect(negotiationErrorText(refused.error).length).toBeGreaterThan(20);
});

const OWN = "11".repeat(20);
const FALLBACK = "22".repeat(20);
const OTHER = "33".repeat(20);
const agreed = (role: Role, named: string | null, contracts = { own: OWN, fallback: FALLBACK as string | null }) => {
  const t = terms(role, { takerContracts: contracts });
  const [startedAt, lock] = role === "taker" ? [START.maker, 2 * L] : [START.taker, L];
  const common = { startedAt, paymentLocktime: startedAt + lock, secretHash: fromHex(HASH), persistentPubkey: fromHex(MAKER) };
  const checked = check(
    named === null
      ? { version: 1, ...common }
      : { version: 2, ...common, makerCoinContract: new Uint8Array(), takerCoinContract: fromHex(named) },
    t,
  );
  return checked.ok ? checked.value.takerContract : checked.error.kind;
};

test.each([
  ["maker", OWN, OWN],
  ["maker", FALLBACK, FALLBACK],
  ["maker", OTHER, "OtherContract"],
  ["maker", null, FALLBACK],
  ["maker", "", "OtherContract"],
  ["maker", "11".repeat(19), "OtherContract"],
  ["taker", OWN, OWN],
  ["taker", FALLBACK, FALLBACK],
  ["taker", OTHER, FALLBACK],
  ["taker", null, FALLBACK],
  ["taker", "", "OtherContract"],
  ["taker", "11".repeat(21), "OtherContract"],
] as const)("a %s that is told of contract '%s' uses %s (reference 5.3)", (role, named, result) => {
  expect(agreed(role, named)).toBe(result);
});

test("without a fallback only the own contract will do, and the refusal names both", () => {
  const only = { own: OWN, fallback: null };
  expect([agreed("taker", OWN, only), agreed("taker", OTHER, only), agreed("maker", null, only)]).toEqual([
    OWN,
    "OtherContract",
    "OtherContract",
  ]);
  const refused = check(offerOf({ takerCoinContract: fromHex(OTHER) }), terms("taker", { takerContracts: only }));
  if (refused.ok) throw new Error("accepted");
  expect(negotiationErrorText(refused.error)).toBe(
    `the other side uses swap contract ${OTHER} for the taker coin, this side uses ${OWN}; both must enable the coin with the same one`,
  );
});

test("an offer names the own contracts, an answer those agreed on, a coin without contracts none", () => {
  const t = terms("taker", { takerContracts: { own: OWN, fallback: FALLBACK } });
  expect(ownNegotiation(t, { secretHash: HASH })).toMatchObject({ makerCoinContract: new Uint8Array(), takerCoinContract: fromHex(OWN) });
  const said = { secretHash: HASH, takerContract: FALLBACK };
  expect(ownNegotiation(t, said)).toMatchObject({ makerCoinContract: new Uint8Array(), takerCoinContract: fromHex(FALLBACK) });
});

test("a maker keeps its own hash, whatever a reply echoes, and knows a reply to another offer", () => {
  const reply = offerOf({ startedAt: START.taker, paymentLocktime: START.taker + L, secretHash: new Uint8Array(20) });
  expect(check(reply, terms("maker"))).toMatchObject({ ok: true, value: { secretHash: HASH } });
  expect([echoesSecretHash(terms("maker"), reply), echoesSecretHash(terms("maker"), offerOf())]).toEqual([false, true]);
});

test("the deadlines of a swap are those of the protocol, by this side's start and the other's", () => {
  // reference swap-protocol.md 2.2, L = 7800
  expect(deadlines("maker", 1_000, 1_010, 7_800)).toEqual({
    takerLock: 8_810,
    makerLock: 16_600,
    firstSendBy: 3_600,
    makerPaymentConfirmedBy: 4_120,
    revealBy: 7_240,
  });
  expect(deadlines("taker", 1_010, 1_000, 31_200)).toEqual({
    takerLock: 32_210,
    makerLock: 63_400,
    firstSendBy: 11_410,
    makerPaymentConfirmedBy: 13_490,
    revealBy: 25_970,
  });
});

test("a maker that needs more than a fifth of the lock for its claim stops revealing so much before the taker's lock", () => {
  expect(deadlines("maker", 1_000, 1_010, 7_800, 2_000).revealBy).toBe(6_810);
  expect(deadlines("maker", 1_000, 1_010, 7_800, 1_000).revealBy).toBe(7_240);
});
