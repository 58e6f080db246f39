import { secp256k1 } from "@noble/curves/secp256k1.js";
import { Transaction } from "bitcoinjs-lib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chainTxs, kdfFacts, zip243Shielded } from "../../../test/vectors/utxo/utxoVectors.ts";
import { keyPairFromScalar } from "../keys/keyPair.ts";
import { fromHex, toHex } from "../util/bytes.ts";
import { hash160 } from "./hash.ts";
import { p2pkhScript } from "./outputScript.ts";
import { pushesOf } from "./script.ts";
import { forkIdDigest, legacyDigest, saplingDigest, segwitV0Digest } from "./sighash.ts";
import { signInputs, signScript } from "./signInput.ts";
import { parseTx, serializeTx, type TxFormat, txid } from "./txCodec.ts";

function parsed(hex: string, format: TxFormat = { kind: "bitcoin" }) {
  const tx = parseTx(fromHex(hex), format);
  if (!tx.ok) throw new Error(tx.error.detail);
  return tx.value;
}

const lastPush = (script: Uint8Array): Uint8Array => pushesOf(script)?.at(-1) ?? new Uint8Array(0);

/** Verifies the signature of input 0, the first push, with `key`. */
function verifies(scriptSig: Uint8Array, digest: Uint8Array, key: Uint8Array): boolean {
  const der = pushesOf(scriptSig)?.[0]?.slice(0, -1) ?? new Uint8Array(0);
  return secp256k1.verify(der, digest, key, { prehash: false, format: "der" });
}

const HASH_TYPES = [0, 1, 2, 3, 0x41, 0x81, 0x82, 0x83, 0xff];
const u32 = fc.integer({ min: 0, max: 0xffffffff });
const anyTx = fc.record({
  version: fc.integer({ min: 0, max: 0x7fffffff }),
  inputs: fc.array(
    fc.record({
      txid: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHex),
      vout: u32,
      scriptSig: fc.constant(new Uint8Array(0)),
      sequence: u32,
      witness: fc.constant([] as Uint8Array[]),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  outputs: fc.array(fc.record({ value: fc.bigInt({ min: 0n, max: 21n * 10n ** 14n }), script: fc.uint8Array({ maxLength: 40 }) }), {
    maxLength: 4,
  }),
  lockTime: u32,
});
/** Pushes and opcodes, OP_CODESEPARATOR among them. */
const scriptCode = fc
  .array(fc.constantFrom([0x76], [0xac], [0xab], [0x02, 0xab, 0xab], [0x51]), { maxLength: 8 })
  .map((p) => Uint8Array.from(p.flat()));

test("legacy and BIP-143 digests equal bitcoinjs-lib's for all hash types", () => {
  fc.assert(
    fc.property(
      anyTx,
      scriptCode,
      fc.nat(3),
      fc.constantFrom(...HASH_TYPES),
      fc.bigInt({ min: 0n, max: 21n * 10n ** 14n }),
      (tx, script, at, hashType, value) => {
        const index = at % tx.inputs.length;
        const oracle = Transaction.fromBuffer(serializeTx(tx));
        // The quirk's digest is tested below: bitcoinjs-lib has it in the other byte order than the original client.
        const quirk = (hashType & 0x1f) === 3 && index >= tx.outputs.length;
        if (!quirk) expect(toHex(legacyDigest(tx, index, script, hashType))).toBe(toHex(oracle.hashForSignature(index, script, hashType)));
        expect(toHex(segwitV0Digest(tx, index, script, value, hashType))).toBe(
          toHex(oracle.hashForWitnessV0(index, script, value, hashType)),
        );
        expect(toHex(forkIdDigest(tx, index, script, value))).toBe(toHex(oracle.hashForWitnessV0(index, script, value, 0x41)));
      },
    ),
    { numRuns: 500 },
  );
});

test("SIGHASH_SINGLE without a matching output gives the number one, little-endian", () => {
  const tx = parsed(kdfFacts.constructed.claim.hex);
  const [input] = tx.inputs;
  if (!input) throw new Error("no input");
  const two = { ...tx, inputs: [input, input] };
  expect(toHex(legacyDigest(two, 1, new Uint8Array(0), 3))).toBe(`01${"00".repeat(31)}`);
});

test("legacy digests of the contract spends are the known ones, and the real signature verifies", () => {
  const { claim, refund } = kdfFacts.constructed;
  for (const { hex, sighash } of [claim, refund]) {
    const tx = parsed(hex);
    expect(toHex(legacyDigest(tx, 0, lastPush(tx.inputs[0]?.scriptSig ?? new Uint8Array(0)), 1))).toBe(sighash);
  }
  const { hex, sighash, claimKey } = kdfFacts.legacySpend;
  const { scriptSig = new Uint8Array(0) } = parsed(hex).inputs[0] ?? {};
  const digest = legacyDigest(parsed(hex), 0, lastPush(scriptSig), 1);
  expect(toHex(digest)).toBe(sighash);
  expect(verifies(scriptSig, digest, fromHex(claimKey))).toBe(true);
});

test("a typed transaction is signed with its payload, as it stands on Dash's chain", () => {
  const { hex, txid: id } = chainTxs.dashRegistration;
  const tx = parsed(hex, { kind: "bitcoin", specialTx: true });
  expect([txid(tx), tx.extraPayload?.length]).toEqual([id, 274]);
  const { scriptSig = new Uint8Array(0) } = tx.inputs[0] ?? {};
  const digest = (of: typeof tx) => legacyDigest(of, 0, p2pkhScript(hash160(lastPush(scriptSig))), 1);
  expect(verifies(scriptSig, digest(tx), lastPush(scriptSig))).toBe(true);
  const other = { ...tx, extraPayload: tx.extraPayload?.with(-1, 0) ?? new Uint8Array(0) };
  expect(verifies(scriptSig, digest(other), lastPush(scriptSig))).toBe(false);
});

test("the ZIP-243 digest of a Komodo-family contract spend is the known one and its signature verifies", () => {
  const { spend, amount, branchId, sighash, claimKey } = kdfFacts.sha256Swap;
  const tx = parsed(spend.hex, { kind: "sapling" });
  const { scriptSig = new Uint8Array(0) } = tx.inputs[0] ?? {};
  const digest = saplingDigest(tx, 0, lastPush(scriptSig), BigInt(amount), branchId);
  expect(toHex(digest)).toBe(sighash);
  expect(verifies(scriptSig, digest, fromHex(claimKey))).toBe(true);
  expect(verifies(scriptSig, saplingDigest(tx, 0, lastPush(scriptSig), BigInt(amount) + 1n, branchId), fromHex(claimKey))).toBe(false);
});

test("test vector 3 of ZIP-243", () => {
  const { hex, script, amount, branchId, sighash } = chainTxs.zip243;
  const tx = parsed(hex, { kind: "sapling" });
  const digest = saplingDigest(tx, 0, fromHex(script), BigInt(amount), branchId);
  expect(toHex(digest)).toBe(sighash);
  const { scriptSig = new Uint8Array(0) } = tx.inputs[0] ?? {};
  expect(verifies(scriptSig, digest, lastPush(scriptSig))).toBe(true);
});

test.each(zip243Shielded)("test vectors of ZIP-243 with shielded parts, hash type $hashType", (vector) => {
  const { hex, index, script, amount, branchId, hashType, sighash } = vector;
  const tx = parsed(hex, { kind: "sapling" });
  expect(toHex(saplingDigest(tx, index, fromHex(script), BigInt(amount), branchId, hashType))).toBe(sighash);
});

/** Test vector 3 of ZIP-243 with other shielded parts. */
const shieldedTx = (tail: string) => parsed(chainTxs.zip243.hex.slice(0, -"000000".length) + tail, { kind: "sapling" });
const SPEND = "11".repeat(320);
const OUTPUT = "22".repeat(948);
const JOIN_SPLIT = "33".repeat(1698);
const KEY = "55".repeat(32);

test("a ZIP-243 digest covers JoinSplits and their key: known from separate code that gives each of its ten test vectors", () => {
  const { script, amount, branchId } = chainTxs.zip243;
  const tx = shieldedTx(`000001${JOIN_SPLIT}${KEY}${"66".repeat(64)}`);
  const digest = saplingDigest(tx, 0, fromHex(script), BigInt(amount), branchId);
  expect(toHex(digest)).toBe("9e6a4c91cffb86aa57df58076a6570138192a3716562a1f12180e467b59a7ea8");
});

test.each([1, 2, 3, 0x81, 0x82, 0x83])("a ZIP-243 digest of hash type %i covers all shielded parts but their signatures", (hashType) => {
  const digest = (spends: string, outputs: string, joinSplits: string): string => {
    const tx = shieldedTx(`02${spends}02${outputs}02${joinSplits}${"44".repeat(64)}`);
    return toHex(saplingDigest(tx, 0, fromHex("51"), 1n, chainTxs.zip243.branchId, hashType));
  };
  const [signature, otherSignature] = ["66".repeat(64), "67".repeat(64)];
  const spends = `${SPEND}${signature}${SPEND}${signature}`;
  const outputs = `${OUTPUT}${OUTPUT}`;
  const joinSplits = `${JOIN_SPLIT}${JOIN_SPLIT}${KEY}${signature}`;
  const known = digest(spends, outputs, joinSplits);
  const other = (part: string): string => `${part.slice(0, -2)}99`;
  for (const [s, o, j] of [
    [`${other(SPEND)}${signature}${SPEND}${signature}`, outputs, joinSplits],
    [`${SPEND}${signature}${other(SPEND)}${signature}`, outputs, joinSplits],
    [spends, `${other(OUTPUT)}${OUTPUT}`, joinSplits],
    [spends, `${OUTPUT}${other(OUTPUT)}`, joinSplits],
    [spends, outputs, `${other(JOIN_SPLIT)}${JOIN_SPLIT}${KEY}${signature}`],
    [spends, outputs, `${JOIN_SPLIT}${other(JOIN_SPLIT)}${KEY}${signature}`],
    [spends, outputs, `${JOIN_SPLIT}${JOIN_SPLIT}${other(KEY)}${signature}`],
  ] as const)
    expect(digest(s, o, j)).not.toBe(known);
  const resigned = digest(
    `${SPEND}${otherSignature}${SPEND}${otherSignature}`,
    outputs,
    `${JOIN_SPLIT}${JOIN_SPLIT}${KEY}${otherSignature}`,
  );
  expect(resigned).toBe(known);
});

test("the shielded parts of a transaction are hashed once, however many of its inputs are looked at", () => {
  const { sapling, ...tx } = shieldedTx(`0001${OUTPUT}00${"44".repeat(64)}`);
  if (!sapling) throw new Error("not v4");
  let read = 0;
  const { shieldedTail, ...fields } = sapling;
  const counted = {
    ...fields,
    get shieldedTail() {
      read++;
      return shieldedTail;
    },
  };
  for (let i = 0; i < 3; i++) saplingDigest({ ...tx, sapling: counted }, 0, new Uint8Array(0), 1n, 1);
  expect(read).toBe(1);
});

test("only a v4 transaction has a ZIP-243 digest: chains of this family take no other", () => {
  const { sapling, ...v1 } = parsed(chainTxs.zip243.hex, { kind: "sapling" });
  if (!sapling) throw new Error("not v4");
  const v3 = { ...v1, version: 3, sapling: { ...sapling, versionGroupId: 0x03c48270, shieldedTail: new Uint8Array(1) } };
  for (const tx of [v1, v3]) expect(() => saplingDigest(tx, 0, new Uint8Array(0), 1n, 1)).toThrow(RangeError);
});

test("a ZIP-243 digest of another hash type leaves out what that type does not cover, and nothing else", () => {
  const { hex, script, amount, branchId } = chainTxs.zip243;
  const one = parsed(hex, { kind: "sapling" });
  const [input] = one.inputs;
  const [output] = one.outputs;
  if (!input || !output) throw new Error("empty");
  const tx = { ...one, inputs: [input, { ...input, vout: input.vout + 1 }], outputs: [output, { ...output, value: output.value + 1n }] };
  const changed = {
    "another's outpoint": { ...tx, inputs: [input, { ...input, vout: input.vout + 2 }] },
    "another's sequence": { ...tx, inputs: [input, { ...input, vout: input.vout + 1, sequence: 5 }] },
    "the own output": { ...tx, outputs: [{ ...output, value: 7n }, ...tx.outputs.slice(1)] },
    "another output": { ...tx, outputs: [output, { ...output, value: 7n }] },
    "the own sequence": { ...tx, inputs: [{ ...input, sequence: 5 }, ...tx.inputs.slice(1)] },
    "the lock time": { ...tx, lockTime: 5 },
  };
  const digest = (of: typeof tx, type: number): string => toHex(saplingDigest(of, 0, fromHex(script), BigInt(amount), branchId, type));
  const covers = (type: number): string[] =>
    Object.entries(changed).flatMap(([what, other]) => (digest(other, type) === digest(tx, type) ? [] : [what]));
  const always = ["the own sequence", "the lock time"];
  expect(covers(1)).toEqual(Object.keys(changed));
  expect(covers(2)).toEqual(["another's outpoint", ...always]);
  expect(covers(3)).toEqual(["another's outpoint", "the own output", ...always]);
  expect(covers(0x81)).toEqual(["the own output", "another output", ...always]);
  expect(covers(0x82)).toEqual(always);
  expect(covers(0x83)).toEqual(["the own output", ...always]);
  expect(new Set([1, 2, 3, 0x81, 0x82, 0x83].map((type) => digest(tx, type))).size).toBe(6);
});

test("a Bitcoin Cash transaction signed with fork id comes out byte for byte as it stands on the chain", () => {
  const { hex, secret, amount, script } = chainTxs.bitcoinCash;
  const signed = parsed(hex);
  const key = keyPairFromScalar(fromHex(secret));
  if (!key) throw new Error("bad key");
  const unsigned = { ...signed, inputs: signed.inputs.map((i) => ({ ...i, scriptSig: new Uint8Array(0) })) };
  const spent = [{ value: BigInt(amount), script: fromHex(script) }];
  expect(toHex(serializeTx(signInputs(unsigned, spent, key, { kind: "forkid", forkNumber: 0 })))).toBe(hex);
  expect(toHex(serializeTx(signInputs(unsigned, spent, key, { kind: "legacy" })))).not.toBe(hex);
});

test("a transaction with shielded parts is never signed", () => {
  const tx = parsed(chainTxs.zip243.hex, { kind: "sapling" });
  if (!tx.sapling) throw new Error("not v4");
  const shielded = { ...tx, sapling: { ...tx.sapling, shieldedTail: new Uint8Array(500) } };
  const key = keyPairFromScalar(new Uint8Array(32).fill(1));
  if (!key) throw new Error("bad key");
  const sign = (of: typeof tx) => signScript(of, 0, { value: 1n, scriptCode: new Uint8Array(0) }, key, { kind: "sapling", branchId: 1 });
  expect(sign(tx).length).toBeGreaterThan(0);
  for (const other of [shielded, shieldedTx(`0001${OUTPUT}00${"44".repeat(64)}`)]) expect(() => sign(other)).toThrow(RangeError);
});
