import { expect, test } from "vitest";
import { kdfFacts, recordedSwaps } from "../../../test/vectors/utxo/utxoVectors.ts";
import { type KeyPair, keyPairFromScalar, uncompressedPubkey } from "../keys/keyPair.ts";
import { decimal, toUnits } from "../money/rational.ts";
import { fromHex, toHex } from "../util/bytes.ts";
import { hash160 } from "./hash.ts";
import type { HtlcTerms } from "./htlc.ts";
import { p2pkhScript, p2pkScript, p2shScript, p2wpkhScript } from "./outputScript.ts";
import { pushesOf } from "./script.ts";
import { type SighashScheme, signInputs } from "./signInput.ts";
import { type ExpectedFee, feeOutputs, feePayer, paymentOutputs, validateFee, validatePayment } from "./swapTx.ts";
import type { Tx, TxOutput } from "./tx.ts";
import { serializeTx, type TxFormat } from "./txCodec.ts";
import { draftTx } from "./txTemplate.ts";

const BITCOIN: TxFormat = { kind: "bitcoin" };
const LEGACY: SighashScheme = { kind: "legacy" };
const FEE_KEY = fromHex(kdfFacts.feeKey);

function key(byte: number): KeyPair {
  const pair = keyPairFromScalar(new Uint8Array(32).fill(byte));
  if (!pair) throw new Error("bad key");
  return pair;
}
const TAKER = key(2);

/** A transaction spending `scripts`, signed by the taker unless another is named. */
function signed(scripts: readonly Uint8Array[], outputs: readonly TxOutput[], scheme = LEGACY, format = BITCOIN, by = TAKER): Tx {
  const inputs = scripts.map((_, vout) => ({
    txid: "cc".repeat(32),
    vout,
    scriptSig: new Uint8Array(0),
    sequence: 0xffffffff,
    witness: [],
  }));
  const tx = draftTx({ version: format.kind === "sapling" ? 4 : 1, format }, { inputs, outputs, lockTime: 0 });
  return signInputs(
    tx,
    scripts.map((script) => ({ value: 5000n, script })),
    by,
    scheme,
  );
}

const EXPECTED: ExpectedFee = { takerKey: TAKER.publicKey, feeKey: FEE_KEY, fee: 1000n, burn: 0n, scheme: LEGACY };
const OWN = p2pkhScript(hash160(TAKER.publicKey));

test("payments of recorded swaps pass against their terms and nothing else", () => {
  for (const s of recordedSwaps) {
    const terms: HtlcTerms = {
      lock: s.makerLock,
      secretHash: fromHex(s.secretHash),
      refundKey: fromHex(s.makerKey),
      claimKey: fromHex(s.takerKey),
    };
    const amount = toUnits(decimal(s.makerAmount), 8);
    const raw = fromHex(s.makerPayment.hex);
    const good = validatePayment(raw, BITCOIN, terms, amount);
    expect(good.ok && good.value.txid).toBe(s.makerPayment.txid);
    expect(good.ok && good.value.tx.outputs.slice(0, 2)).toEqual(paymentOutputs(terms, amount));
    expect(validatePayment(raw, BITCOIN, terms, amount + 1n)).toEqual({
      ok: false,
      error: { kind: "WrongValue", vout: 0, expected: amount + 1n, got: amount },
    });
    // More than agreed is not what was agreed either: the other side looks for the exact amount.
    const more = validatePayment(raw, BITCOIN, terms, amount - 1n);
    expect(!more.ok && more.error.kind).toBe("WrongValue");
    for (const change of [{ lock: terms.lock + 1 }, { refundKey: terms.claimKey }, { secretHash: new Uint8Array(20) }]) {
      const wrong = validatePayment(raw, BITCOIN, { ...terms, ...change }, amount);
      expect(!wrong.ok && wrong.error.kind).toBe("WrongScript");
    }
  }
});

test("a 32-byte secret hash goes into the output whole and into the script by its RIPEMD-160", () => {
  const f = kdfFacts.sha256Swap;
  const terms = { lock: f.lock, secretHash: fromHex(f.secretHash), refundKey: fromHex(f.refundKey), claimKey: fromHex(f.claimKey) };
  const checked = validatePayment(fromHex(f.takerPayment.hex), { kind: "sapling" }, terms, BigInt(f.amount));
  expect(checked.ok && checked.value.tx.outputs.slice(0, 2)).toEqual(paymentOutputs(terms, BigInt(f.amount)));
  expect(checked.ok && toHex(checked.value.tx.outputs[1]?.script ?? new Uint8Array(0))).toBe(`6a20${f.secretHash}`);
});

test("bytes that are no transaction, or a transaction without outputs, are named as such", () => {
  const s = recordedSwaps[0];
  if (!s) throw new Error("no swap");
  const terms: HtlcTerms = {
    lock: s.makerLock,
    secretHash: fromHex(s.secretHash),
    refundKey: fromHex(s.makerKey),
    claimKey: fromHex(s.takerKey),
  };
  const broken = validatePayment(fromHex(s.makerPayment.hex).subarray(1), BITCOIN, terms, 1n);
  expect(!broken.ok && broken.error.kind).toBe("BadTx");
  expect(validatePayment(new Uint8Array(400_001), BITCOIN, terms, 1n)).toEqual({
    ok: false,
    error: { kind: "BadTx", detail: "larger than nodes relay" },
  });
  const empty = validatePayment(serializeTx(signed([OWN], [])), BITCOIN, terms, 1n);
  expect(!empty.ok && empty.error).toEqual({ kind: "NoOutput", vout: 0 });
});

test("recorded dex fees and KDF's fixtures pass for their taker's key only", () => {
  for (const s of recordedSwaps) {
    const fee = (toUnits(decimal(s.takerAmount), 8) * 1n) / 777n;
    const expected = { ...EXPECTED, takerKey: fromHex(s.takerKey), fee };
    expect(validateFee(fromHex(s.fee.hex), BITCOIN, expected).ok).toBe(true);
    expect(validateFee(fromHex(s.fee.hex), BITCOIN, { ...expected, takerKey: fromHex(s.makerKey) })).toEqual({
      ok: false,
      error: { kind: "NotSignedByTaker", input: 0 },
    });
  }
  const { fee, sha256Swap } = kdfFacts;
  const scheme: SighashScheme = { kind: "sapling", branchId: 0x76b809bb };
  for (const { hex, takerKey, amount } of [fee, { ...sha256Swap.fee, takerKey: sha256Swap.refundKey }]) {
    const expected = { ...EXPECTED, takerKey: fromHex(takerKey), fee: BigInt(amount), scheme };
    expect(validateFee(fromHex(hex), { kind: "sapling" }, expected).ok).toBe(true);
    expect(validateFee(fromHex(hex), { kind: "sapling" }, { ...expected, takerKey: FEE_KEY }).ok).toBe(false);
  }
});

test("a fee of a Komodo-family coin in a form that its chain does not take is refused", () => {
  const scheme: SighashScheme = { kind: "sapling", branchId: 0x76b809bb };
  const old = serializeTx(signed([p2pkScript(TAKER.publicKey)], feeOutputs({ feeKey: FEE_KEY, fee: 1000n, burn: 0n })));
  const checked = validateFee(old, { kind: "sapling" }, { ...EXPECTED, scheme, spentValue: () => 5000n });
  expect(checked).toEqual({ ok: false, error: { kind: "BadSignature", input: 0 } });
});

test("more than the fee is fine, less is not, another receiver is not", () => {
  const raw = (fee: bigint, feeKey = FEE_KEY) => serializeTx(signed([OWN], feeOutputs({ feeKey, fee, burn: 0n })));
  expect(validateFee(raw(1001n), BITCOIN, EXPECTED).ok).toBe(true);
  const low = validateFee(raw(999n), BITCOIN, EXPECTED);
  expect(!low.ok && low.error).toEqual({ kind: "WrongValue", vout: 0, expected: 1000n, got: 999n });
  const stranger = validateFee(raw(1000n, TAKER.publicKey), BITCOIN, EXPECTED);
  expect(!stranger.ok && stranger.error.kind).toBe("WrongScript");
});

test("a burn that is due must be the second output, at least as high as asked", () => {
  const terms = { feeKey: FEE_KEY, fee: 1000n, burn: 300n };
  const raw = (burn: bigint) => serializeTx(signed([OWN], feeOutputs({ ...terms, burn })));
  expect(toHex(feeOutputs(terms)[1]?.script ?? new Uint8Array(0))).toBe("6a");
  expect(validateFee(raw(300n), BITCOIN, { ...EXPECTED, burn: 300n }).ok).toBe(true);
  const low = validateFee(raw(299n), BITCOIN, { ...EXPECTED, burn: 300n });
  expect(!low.ok && low.error).toEqual({ kind: "WrongValue", vout: 1, expected: 300n, got: 299n });
  const none = validateFee(raw(0n), BITCOIN, { ...EXPECTED, burn: 300n });
  expect(!none.ok && none.error).toEqual({ kind: "NoOutput", vout: 1 });
});

test("every way the taker's key can sign an input counts, and one foreign input spoils the fee", () => {
  const pubkey = TAKER.publicKey;
  const scriptsOf = (k: Uint8Array): Uint8Array[] => [
    p2pkhScript(hash160(k)),
    p2pkScript(k),
    p2pkScript(uncompressedPubkey(k)),
    p2wpkhScript(hash160(k)),
  ];
  const outputs = feeOutputs({ feeKey: FEE_KEY, fee: 1000n, burn: 0n });
  for (const [i, script] of scriptsOf(pubkey).entries()) {
    expect(validateFee(serializeTx(signed([OWN, script], outputs)), BITCOIN, EXPECTED).ok).toBe(true);
    const other = validateFee(serializeTx(signed([OWN, script], outputs)), BITCOIN, { ...EXPECTED, takerKey: key(3).publicKey });
    expect(!other.ok && other.error).toEqual({ kind: "NotSignedByTaker", input: 0 });
    const own = signed([OWN, script], outputs);
    const foreign = signed(scriptsOf(key(3).publicKey).slice(i, i + 1), outputs, LEGACY, BITCOIN, key(3));
    const mixed = { ...own, inputs: [...own.inputs.slice(0, 1), ...foreign.inputs.map((input) => ({ ...input, vout: 1 }))] };
    const spoilt = validateFee(serializeTx(mixed), BITCOIN, EXPECTED);
    const isBare = pushesOf(mixed.inputs[1]?.scriptSig ?? new Uint8Array(0))?.length === 1;
    expect(!spoilt.ok && spoilt.error).toEqual({ kind: isBare ? "BadSignature" : "NotSignedByTaker", input: 1 });
    expect(validateFee(serializeTx(mixed), BITCOIN, { ...EXPECTED, takerKey: null }).ok).toBe(true);
  }
  const nested = signed([p2wpkhScript(hash160(pubkey))], outputs);
  const wrapped = { ...nested, inputs: nested.inputs.map((i) => ({ ...i, scriptSig: fromHex(`160014${toHex(hash160(pubkey))}`) })) };
  expect(validateFee(serializeTx(wrapped), BITCOIN, EXPECTED).ok).toBe(true);
});

test("who pays a fee is told by how the taker's key unlocks its first input, and is nobody where another key does", () => {
  const outputs = feeOutputs({ feeKey: FEE_KEY, fee: 1000n, burn: 0n });
  const pubkey = TAKER.publicKey;
  const [program, long] = [p2wpkhScript(hash160(pubkey)), p2pkhScript(hash160(uncompressedPubkey(pubkey)))];
  for (const script of [OWN, p2pkScript(pubkey), program]) {
    const raw = serializeTx(signed([script, OWN], outputs));
    expect(toHex(feePayer(raw, BITCOIN, pubkey) ?? new Uint8Array(0))).toBe(toHex(script));
  }
  const own = signed([OWN], outputs);
  const forms = (from: Uint8Array, to: Uint8Array): Uint8Array =>
    fromHex(toHex(serializeTx(own)).replace(`21${toHex(from)}`, `${to.length.toString(16)}${toHex(to)}`));
  expect(feePayer(forms(pubkey, key(3).publicKey), BITCOIN, pubkey)).toBeNull();
  const inputs = own.inputs.map((input) => {
    const [signature] = pushesOf(input.scriptSig) ?? [];
    return { ...input, scriptSig: Uint8Array.of(signature?.length ?? 0, ...(signature ?? []), 65, ...uncompressedPubkey(pubkey)) };
  });
  expect(feePayer(serializeTx({ ...own, inputs }), BITCOIN, pubkey)).toEqual(long);
  const nested = signed([program], outputs);
  const wrapped = { ...nested, inputs: nested.inputs.map((input) => ({ ...input, scriptSig: Uint8Array.of(22, ...program) })) };
  expect(feePayer(serializeTx(wrapped), BITCOIN, pubkey)).toEqual(p2shScript(hash160(program)));
  expect(feePayer(Uint8Array.of(1), BITCOIN, pubkey)).toBeNull();
});

test("a pay-to-public-key input is accepted for its signature, not for its looks", () => {
  const outputs = feeOutputs({ feeKey: FEE_KEY, fee: 1000n, burn: 0n });
  const good = signed([p2pkScript(TAKER.publicKey)], outputs);
  expect(validateFee(serializeTx({ ...good, lockTime: 7 }), BITCOIN, EXPECTED).ok).toBe(false);
  const scheme: SighashScheme = { kind: "forkid", forkNumber: 0 };
  const cash = serializeTx(signed([p2pkScript(TAKER.publicKey)], outputs, scheme));
  const open = validateFee(cash, BITCOIN, { ...EXPECTED, scheme });
  expect(!open.ok && open.error).toEqual({ kind: "ValuesNeeded" });
  expect(validateFee(cash, BITCOIN, { ...EXPECTED, scheme, spentValue: () => 5000n }).ok).toBe(true);
  expect(validateFee(cash, BITCOIN, { ...EXPECTED, scheme, spentValue: () => 5001n }).ok).toBe(false);
});

test("of signatures that are verified here a fee has a hundred at most, a large one twenty, and none is looked at where the outputs do not fit", () => {
  const bare = (count: number, fee: bigint, more = 0): Uint8Array =>
    serializeTx(
      signed(
        Array.from({ length: count }, () => p2pkScript(TAKER.publicKey)),
        [...feeOutputs({ feeKey: FEE_KEY, fee, burn: 0n }), ...Array.from({ length: more }, () => ({ value: 1n, script: OWN }))],
      ),
    );
  const most = (raw: Uint8Array): unknown => {
    const checked = validateFee(raw, BITCOIN, EXPECTED);
    return checked.ok || checked.error;
  };
  expect(most(bare(100, 1_000n))).toBe(true);
  expect(most(bare(101, 1_000n))).toEqual({ kind: "TooManyBareInputs", most: 100 });
  expect(most(bare(20, 1_000n, 3_000))).toBe(true);
  expect(most(bare(21, 1_000n, 3_000))).toEqual({ kind: "TooManyBareInputs", most: 20 });
  // Nor are they of anybody's key: what they are is not asked.
  const low = validateFee(bare(2, 999n), BITCOIN, { ...EXPECTED, takerKey: key(3).publicKey });
  expect(!low.ok && low.error.kind).toBe("WrongValue");
});

test("unsigned inputs, junk for a signature and a fee without inputs are refused", () => {
  const outputs = feeOutputs({ feeKey: FEE_KEY, fee: 1000n, burn: 0n });
  const good = signed([OWN], outputs);
  const push = (hex: string) => `${(hex.length / 2).toString(16).padStart(2, "0")}${hex}`;
  for (const [scriptSig, kind] of [
    ["", "NotSignedByTaker"],
    [push("30450000"), "BadSignature"],
    [`${push("00".repeat(71))}${push(toHex(TAKER.publicKey))}`, "NotSignedByTaker"],
    [`51${push(toHex(TAKER.publicKey))}`, "NotSignedByTaker"],
    ["0000", "NotSignedByTaker"],
  ] as const) {
    const tx = { ...good, inputs: good.inputs.map((i) => ({ ...i, scriptSig: fromHex(scriptSig) })) };
    const result = validateFee(serializeTx(tx), BITCOIN, EXPECTED);
    expect(!result.ok && result.error.kind).toBe(kind);
  }
  const none = validateFee(serializeTx({ ...good, inputs: [], outputs: [] }), BITCOIN, EXPECTED);
  expect(!none.ok && none.error.kind).toBe("NotSignedByTaker");
});

test("signing an output of another key is a bug", () => {
  expect(() => signed([p2pkhScript(new Uint8Array(20))], [])).toThrow(RangeError);
  const tx = signed([OWN], []);
  expect(() => signInputs(tx, [], TAKER, LEGACY)).toThrow(RangeError);
});
