import { FpIsSquare } from "@noble/curves/abstract/modular.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { expect, test } from "vitest";
import { kdfFacts, recordedSwaps } from "../../../test/vectors/utxo/utxoVectors.ts";
import { type KeyPair, keyPairFromScalar } from "../keys/keyPair.ts";
import { concatBytes, fromHex, toHex } from "../util/bytes.ts";
import { Secret } from "../util/secret.ts";
import { hash160 } from "./hash.ts";
import { classifySpend, extractSecret, type HtlcTerms, p2shOf, parseRedeemScript, redeemScript, refundScriptSig } from "./htlc.ts";
import { buildHtlcClaim, buildHtlcRefund, type HtlcSpend, isSignedRefund } from "./htlcSpend.ts";
import { OP } from "./opcodes.ts";
import { p2pkhScript } from "./outputScript.ts";
import { pushBytes, pushesOf } from "./script.ts";
import { inputDigest, withInput } from "./signInput.ts";
import type { Tx } from "./tx.ts";
import { parseTx, serializeTx, type TxFormat } from "./txCodec.ts";
import { htlcLockTime, isAged, isRefundFinal } from "./txTemplate.ts";

function key(byte: number): KeyPair {
  const pair = keyPairFromScalar(new Uint8Array(32).fill(byte));
  if (!pair) throw new Error("bad key");
  return pair;
}

function parsed(hex: string, format: TxFormat = { kind: "bitcoin" }) {
  const tx = parseTx(fromHex(hex), format);
  if (!tx.ok) throw new Error(tx.error.detail);
  return tx.value;
}

const MAKER = key(1);
const TAKER = key(2);
const SECRET = new Uint8Array(32).fill(0x11);
const FACTS = kdfFacts.constructed;
/** The taker payment of reference 10.2. */
const TERMS: HtlcTerms = { lock: FACTS.lock, secretHash: hash160(SECRET), refundKey: TAKER.publicKey, claimKey: MAKER.publicKey };
const spendTo = (owner: KeyPair): HtlcSpend => ({
  template: { version: 1, format: { kind: "bitcoin" } },
  scheme: { kind: "legacy" },
  payment: { txid: "aa".repeat(32), vout: 0, value: 1_000_000n },
  terms: TERMS,
  outputScript: p2pkhScript(hash160(owner.publicKey)),
  fee: 496n,
  lockTime: TERMS.lock,
  dust: 1000n,
});

test("the redeem script and its P2SH output are the known bytes, and the script reads back", () => {
  expect(toHex(redeemScript(TERMS))).toBe(FACTS.redeem);
  expect(toHex(p2shOf(redeemScript(TERMS)))).toBe(FACTS.paymentScript);
  expect(parseRedeemScript(fromHex(FACTS.redeem))).toEqual(TERMS);
});

test("claim and refund are the known transactions, byte for byte", () => {
  const claim = buildHtlcClaim(spendTo(MAKER), new Secret(SECRET), MAKER);
  expect(claim.ok && toHex(serializeTx(claim.value))).toBe(FACTS.claim.hex);
  const refund = buildHtlcRefund(spendTo(TAKER), TAKER);
  expect(refund.ok && toHex(serializeTx(refund.value))).toBe(FACTS.refund.hex);
});

test("contracts of recorded swaps and KDF's fixtures come out of their terms", () => {
  for (const s of recordedSwaps) {
    const secretHash = fromHex(s.secretHash);
    const maker = { lock: s.makerLock, secretHash, refundKey: fromHex(s.makerKey), claimKey: fromHex(s.takerKey) };
    const taker = { lock: s.takerLock, secretHash, refundKey: fromHex(s.takerKey), claimKey: fromHex(s.makerKey) };
    for (const [terms, payment, spend] of [
      [maker, s.makerPayment, s.makerPaymentSpend],
      [taker, s.takerPayment, s.takerPaymentSpend],
    ] as const) {
      expect(parsed(payment.hex).outputs[0]?.script).toEqual(p2shOf(redeemScript(terms)));
      expect(classifySpend(parsed(spend.hex), { txid: payment.txid, vout: 0 })).toBe("claim");
      expect(toHex(extractSecret(parsed(spend.hex), secretHash) ?? new Uint8Array(0))).toBe(s.secret);
    }
  }
  const long = kdfFacts.sha256Swap;
  const terms = {
    lock: long.lock,
    secretHash: fromHex(long.secretHash),
    refundKey: fromHex(long.refundKey),
    claimKey: fromHex(long.claimKey),
  };
  expect(parsed(long.takerPayment.hex, { kind: "sapling" }).outputs[0]?.script).toEqual(p2shOf(redeemScript(terms)));
});

test("the secret is found in KDF's spends under a 20- and a 32-byte hash", () => {
  const { extractSecret: a, legacySpend: b, sha256Swap: c } = kdfFacts;
  const cases = [
    { tx: parsed(a.hex, { kind: "sapling" }), ...a },
    { tx: parsed(b.hex), ...b },
    { tx: parsed(c.spend.hex, { kind: "sapling" }), secret: c.secret, secretHash: c.secretHash },
  ];
  for (const { tx, secret, secretHash } of cases) expect(toHex(extractSecret(tx, fromHex(secretHash)) ?? new Uint8Array(0))).toBe(secret);
  expect(extractSecret(parsed(b.hex), fromHex(a.secretHash))).toBeNull();
  for (const { hex, lock, redeemHash, format } of [
    { ...a, format: { kind: "sapling" } as const },
    { ...b, format: { kind: "bitcoin" } as const },
  ]) {
    const redeem = pushesOf(parsed(hex, format).inputs[0]?.scriptSig ?? new Uint8Array(0))?.at(-1) ?? new Uint8Array(0);
    expect([toHex(hash160(redeem)), parseRedeemScript(redeem)?.lock]).toEqual([redeemHash, lock]);
  }
});

test("the secret is found in any input, and a 32-byte decoy before it is passed over", () => {
  const tx = parsed(FACTS.claim.hex);
  const [input] = tx.inputs;
  if (!input) throw new Error("no input");
  const decoy = { ...input, scriptSig: pushBytes(new Uint8Array(32).fill(9)) };
  expect(extractSecret({ ...tx, inputs: [decoy, { ...decoy, scriptSig: new Uint8Array(0) }, input] }, TERMS.secretHash)).toEqual(SECRET);
});

test("a spend is classified by the branch the script takes, however the branch is written", () => {
  const outPoint = { txid: "aa".repeat(32), vout: 0 };
  const [claim, refund] = [parsed(FACTS.claim.hex), parsed(FACTS.refund.hex)];
  expect(classifySpend(claim, outPoint)).toBe("claim");
  expect(classifySpend(refund, outPoint)).toBe("refund");
  expect(classifySpend(claim, { ...outPoint, vout: 1 })).toBe("other");
  expect(classifySpend(claim, { ...outPoint, txid: "bb".repeat(32) })).toBe("other");
  const redeem = fromHex(FACTS.redeem);
  const withBranch = (branch: Uint8Array) =>
    withInput(claim, 0, { scriptSig: Uint8Array.from([...pushBytes(SECRET), ...branch, ...pushBytes(redeem)]) });
  expect(classifySpend(withBranch(pushBytes(Uint8Array.of(0, 0x80))), outPoint)).toBe("claim");
  expect(classifySpend(withBranch(pushBytes(Uint8Array.of(0, 5))), outPoint)).toBe("refund");
  expect(classifySpend(withBranch(Uint8Array.of(OP.OP_16)), outPoint)).toBe("refund");
  expect(classifySpend(withInput(claim, 0, { scriptSig: pushBytes(redeem) }), outPoint)).toBe("other");
  expect(classifySpend(withInput(claim, 0, { scriptSig: pushBytes(fromHex("51")) }), outPoint)).toBe("other");
});

test.each<[HtlcSpend["scheme"], number]>([
  [{ kind: "legacy" }, 0],
  [{ kind: "forkid", forkNumber: 0 }, 0x40],
  [{ kind: "sapling", branchId: 0x76b809bb }, 0],
])("a refund of any hash type is known by its signature, as chains take it: %j", (scheme, fork) => {
  const format: TxFormat = { kind: scheme.kind === "sapling" ? "sapling" : "bitcoin" };
  const spend = { ...spendTo(TAKER), scheme, template: { version: scheme.kind === "sapling" ? 4 : 1, format } };
  const refund = buildHtlcRefund(spend, TAKER);
  if (!refund.ok) throw new Error("not built");
  const redeem = redeemScript(TERMS);
  for (const type of [1, 2, 3, 0x81, 0x82, 0x83].map((base) => base | fork)) {
    const digest = inputDigest(refund.value, 0, redeem, spend.payment.value, scheme, type);
    const der = secp256k1.sign(digest, TAKER.secret.reveal(), { prehash: false, format: "der" });
    const signed = (signature: number[]) => withInput(refund.value, 0, { scriptSig: refundScriptSig(Uint8Array.from(signature), redeem) });
    expect([type, isSignedRefund(signed([...der, type]), spend.payment, TERMS, scheme)]).toEqual([type, true]);
    expect([type, isSignedRefund(signed([...der, type ^ 0x80]), spend.payment, TERMS, scheme)]).toEqual([type, false]);
  }
});

// Digests of the known refund's input, by libauth 3.0.0.
test.each([
  [0x61, "41a6a32099af4b4cfb9607c3cf6a1cd31a38969e73cf47cedc4743d45e5f68d5"],
  [0x62, "774433ff7bf68e094464bcf750a1668de4496bc7238893b11836336f2351a51e"],
  [0x63, "de25084c6552fd35f5db409e58d006f11e497b9872c4fe75ddb4dfe721839f89"],
])("a refund whose signature covers what it spends is known on Bitcoin Cash, hash type %i", (type, digest) => {
  const scheme: HtlcSpend["scheme"] = { kind: "forkid", forkNumber: 0 };
  const { payment } = spendTo(TAKER);
  const der = secp256k1.sign(fromHex(digest), TAKER.secret.reveal(), { prehash: false, format: "der" });
  const signedAs = (hashType: number): Tx =>
    withInput(parsed(FACTS.refund.hex), 0, { scriptSig: refundScriptSig(Uint8Array.from([...der, hashType]), redeemScript(TERMS)) });
  const signed = signedAs(type);
  expect(isSignedRefund(signed, payment, TERMS, scheme)).toBe(true);
  expect(isSignedRefund(signed, { ...payment, value: payment.value + 1n }, TERMS, scheme)).toBe(false);
  expect(isSignedRefund(signedAs(type | 0x80), payment, TERMS, scheme)).toBe(false);
  const others = signed.inputs.map((input) => ({ ...input, vout: 1 }));
  expect(isSignedRefund({ ...signed, inputs: [...signed.inputs, ...others] }, payment, TERMS, scheme)).toBe(false);
});

test("a refund that its owner signs by Schnorr's scheme is known where chains take that", () => {
  const { Fn, Fp, BASE } = secp256k1.Point;
  const scheme: HtlcSpend["scheme"] = { kind: "forkid", forkNumber: 0 };
  const spend = { ...spendTo(TAKER), scheme };
  const refund = buildHtlcRefund(spend, TAKER);
  if (!refund.ok) throw new Error("not built");
  const redeem = redeemScript(TERMS);
  const digest = inputDigest(refund.value, 0, redeem, spend.payment.value, scheme, 0xc1);
  const nonce = Fn.fromBytes(new Uint8Array(32).fill(7));
  const { x, y } = BASE.multiply(nonce).toAffine();
  const e = Fn.create(BigInt(`0x${toHex(sha256(concatBytes(Fp.toBytes(x), TAKER.publicKey, digest)))}`));
  const s = Fn.add(FpIsSquare(Fp, y) ? nonce : Fn.neg(nonce), Fn.mul(e, Fn.fromBytes(TAKER.secret.reveal())));
  const signature = concatBytes(Fp.toBytes(x), Fn.toBytes(s), Uint8Array.of(0xc1));
  const signed = withInput(refund.value, 0, { scriptSig: refundScriptSig(signature, redeem) });
  expect(isSignedRefund(signed, spend.payment, TERMS, scheme)).toBe(true);
  expect(isSignedRefund({ ...signed, lockTime: signed.lockTime + 1 }, spend.payment, TERMS, scheme)).toBe(false);
  expect(isSignedRefund(signed, spend.payment, TERMS, { kind: "legacy" })).toBe(false);
});

test.each([1, 2, 3, 0x81, 0x82, 0x83])("a refund to a shielded output is known by its signature, hash type %i", (type) => {
  const scheme = { kind: "sapling", branchId: 0x76b809bb } as const;
  const template = { version: 4, format: { kind: "sapling" } } as const;
  const spend: HtlcSpend = { ...spendTo(TAKER), scheme, template };
  const refund = buildHtlcRefund(spend, TAKER);
  if (!refund.ok || !refund.value.sapling) throw new Error("not built");
  const redeem = redeemScript(TERMS);
  const shielded = (byte: string) => {
    const sapling = {
      ...refund.value.sapling,
      valueBalance: -900_000n,
      shieldedTail: fromHex(`0001${byte.repeat(948)}00${"44".repeat(64)}`),
    };
    return { ...refund.value, sapling, outputs: [] } as Tx;
  };
  const der = secp256k1.sign(inputDigest(shielded("22"), 0, redeem, spend.payment.value, scheme, type), TAKER.secret.reveal(), {
    prehash: false,
    format: "der",
  });
  const scriptSig = refundScriptSig(Uint8Array.from([...der, type]), redeem);
  const asMined = (tx: Tx) => parsed(toHex(serializeTx(withInput(tx, 0, { scriptSig }))), template.format);
  expect(isSignedRefund(asMined(shielded("22")), spend.payment, TERMS, scheme)).toBe(true);
  expect(isSignedRefund(asMined(shielded("23")), spend.payment, TERMS, scheme)).toBe(false);
});

test("a spend that no digest is defined of is no signed refund", () => {
  const spend: HtlcSpend = { ...spendTo(TAKER), scheme: { kind: "sapling", branchId: 0x76b809bb } };
  const refund = buildHtlcRefund({ ...spend, scheme: { kind: "legacy" } }, TAKER);
  expect(refund.ok && isSignedRefund(refund.value, spend.payment, TERMS, spend.scheme)).toBe(false);
});

test.each<HtlcSpend["scheme"]>([{ kind: "legacy" }, { kind: "forkid", forkNumber: 0 }])(
  "a refund is known by its signature: $kind",
  (scheme) => {
    const spend = { ...spendTo(TAKER), scheme };
    const refund = buildHtlcRefund(spend, TAKER);
    if (!refund.ok) throw new Error("not built");
    const is = (tx = refund.value, payment = spend.payment, terms = TERMS): boolean => isSignedRefund(tx, payment, terms, scheme);
    expect(is()).toBe(true);
    expect(is({ ...refund.value, lockTime: refund.value.lockTime + 1 })).toBe(false);
    expect(is(refund.value, { ...spend.payment, vout: 1 })).toBe(false);
    expect(is(refund.value, spend.payment, { ...TERMS, refundKey: MAKER.publicKey })).toBe(false);
    const [signature, ...rest] = pushesOf(refund.value.inputs[0]?.scriptSig ?? new Uint8Array(0)) ?? [];
    if (!signature) throw new Error("no signature");
    const unlocked = (first: Uint8Array) =>
      withInput(refund.value, 0, { scriptSig: Uint8Array.from([first, ...rest].flatMap((item) => [...pushBytes(item)])) });
    expect(is(unlocked(signature))).toBe(true);
    const sig = refund.value.inputs[0]?.scriptSig ?? new Uint8Array(0);
    expect(is(withInput(refund.value, 0, { scriptSig: Uint8Array.from([...pushBytes(fromHex("51")), ...sig]) }))).toBe(true);
    for (const other of [signature.with(10, (signature[10] ?? 0) ^ 1), signature.with(-1, 3), signature.subarray(1), new Uint8Array(0)])
      expect(is(unlocked(other))).toBe(false);
  },
);

test("terms that could lock money for ever are refused", () => {
  const bad: Partial<HtlcTerms>[] = [
    { lock: 499_999_999 },
    { lock: 0x80000000 },
    { lock: 1.5 },
    { secretHash: new Uint8Array(19) },
    { claimKey: new Uint8Array(33) },
    { claimKey: Uint8Array.of(2, ...new Uint8Array(32).fill(0xff)) },
    { refundKey: TAKER.publicKey.subarray(1) },
  ];
  for (const part of bad) expect(() => redeemScript({ ...TERMS, ...part })).toThrow(RangeError);
});

test("only exactly our script is read as a contract", () => {
  const redeem = fromHex(FACTS.redeem);
  for (let i = 0; i < redeem.length; i++) {
    const changed = Uint8Array.from(redeem);
    changed[i] = (changed[i] ?? 0) ^ 0x40;
    const terms = parseRedeemScript(changed);
    if (terms) expect(toHex(redeemScript(terms))).toBe(toHex(changed));
  }
  expect(parseRedeemScript(redeem.subarray(0, -1))).toBeNull();
  expect(parseRedeemScript(Uint8Array.from([...redeem, OP.NOP]))).toBeNull();
});

test("a claim or refund whose fee eats the payment, or leaves dust, is refused", () => {
  const secret = new Secret(SECRET);
  expect(buildHtlcClaim({ ...spendTo(MAKER), fee: 1_000_000n }, secret, MAKER)).toEqual({
    ok: false,
    error: { kind: "FeeExceedsValue", value: 1_000_000n, fee: 1_000_000n },
  });
  expect(buildHtlcRefund({ ...spendTo(TAKER), fee: 999_001n }, TAKER)).toEqual({
    ok: false,
    error: { kind: "OutputBelowDust", value: 999n, dust: 1000n },
  });
  expect(buildHtlcRefund({ ...spendTo(TAKER), fee: 999_000n }, TAKER).ok).toBe(true);
});

test("signing with another key, another secret or before the lock is a bug, not an outcome", () => {
  expect(() => buildHtlcClaim(spendTo(MAKER), new Secret(SECRET), TAKER)).toThrow(RangeError);
  expect(() => buildHtlcClaim(spendTo(MAKER), new Secret(new Uint8Array(32)), MAKER)).toThrow(RangeError);
  expect(() => buildHtlcRefund(spendTo(TAKER), MAKER)).toThrow(RangeError);
  expect(() => buildHtlcRefund({ ...spendTo(TAKER), lockTime: TERMS.lock - 1 }, TAKER)).toThrow(RangeError);
});

test("a chain's time in the future, or a clock in the past, locks a refund no longer than the contract does", () => {
  const lock = 1_700_000_000;
  expect(htlcLockTime(lock, { medianTimePastSec: lock + 300_000_000, nowSec: lock + 10 }, false)).toBe(lock + 10);
  expect(htlcLockTime(lock, { medianTimePastSec: lock + 500, nowSec: 0 }, false)).toBe(lock);
});

test("a clock in the future locks no refund of a coin with interest beyond the chain's time, nor does a chain whose time is not known", () => {
  const lock = 1_700_000_000;
  expect(htlcLockTime(lock, { medianTimePastSec: lock + 500, nowSec: lock + 300_000_000 }, true)).toBe(lock + 499);
  expect(htlcLockTime(lock, { medianTimePastSec: 0, nowSec: lock + 300_000_000 }, true)).toBe(lock);
});

test("a chain with interest takes a lock time in no block any more once its median time is more than an hour past it; a height never ages", () => {
  const lock = 1_700_000_000;
  expect([lock, lock + 3_600, lock + 3_601].map((median) => isAged(lock, median))).toEqual([false, false, true]);
  expect([0, 499_999_999].map((height) => isAged(height, 2_000_000_000))).toEqual([false, false]);
});

test("lock times follow the chain's clock, or the node's for coins with interest", () => {
  const lock = 1_700_000_000;
  expect(htlcLockTime(lock, { medianTimePastSec: lock - 5, nowSec: lock + 9000 }, false)).toBe(lock);
  expect(htlcLockTime(lock, { medianTimePastSec: lock + 500, nowSec: lock + 9000 }, false)).toBe(lock + 499);
  expect(htlcLockTime(lock, { medianTimePastSec: lock + 2700, nowSec: lock + 3000 }, true)).toBe(lock + 3000 - 2046);
  expect([isRefundFinal(lock, lock), isRefundFinal(lock, lock + 1)]).toEqual([false, true]);
});

test("a replaceable claim has no lock time and a replaceable refund exactly the contract's, whatever the chain's time", () => {
  const claim = buildHtlcClaim({ ...spendTo(MAKER), replaceable: true, lockTime: TERMS.lock + 5 }, new Secret(SECRET), MAKER);
  const refund = buildHtlcRefund({ ...spendTo(TAKER), replaceable: true, lockTime: TERMS.lock + 5 }, TAKER);
  if (!claim.ok || !refund.ok) throw new Error("not built");
  expect([claim.value.inputs[0]?.sequence, claim.value.lockTime]).toEqual([0xfffffffd, 0]);
  expect([refund.value.inputs[0]?.sequence, refund.value.lockTime]).toEqual([0xfffffffd, TERMS.lock]);
});
