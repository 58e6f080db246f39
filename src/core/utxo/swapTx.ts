import { secp256k1 } from "@noble/curves/secp256k1.js";
import { isValidPubkey, uncompressedPubkey } from "../keys/keyPair.ts";
import { equalBytes } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { hash160 } from "./hash.ts";
import { type HtlcTerms, p2shOf, redeemScript } from "./htlc.ts";
import { OP } from "./opcodes.ts";
import { opReturnScript, p2pkhScript, p2pkScript, p2shScript, p2wpkhScript } from "./outputScript.ts";
import { decodeScript, pushesOf } from "./script.ts";
import { inputDigest, isSignature, type SighashScheme, sighashByte } from "./signInput.ts";
import type { OutPoint, Tx, TxInput, TxOutput } from "./tx.ts";
import { type BadTx, parseTx, type TxFormat, txid } from "./txCodec.ts";

/** Output of a payment that holds the contract: fixed by the protocol, for search, claim and refund alike. */
export const HTLC_VOUT = 0;
const FEE_VOUT = 0;
const BURN_VOUT = 1;
/** A bare OP_RETURN: what a fee's burnt part pays to (KDF 2.x, taker coin KMD). */
const BURN_SCRIPT = Uint8Array.of(OP.RETURN);

/** Largest transaction nodes relay (400,000 weight units); what a peer sends is not read beyond it. */
export const MAX_PEER_TX_BYTES = 400_000;

/** Outputs of a payment in their fixed order; change follows (swap-protocol.md 4.2). `amount` in base units. */
export function paymentOutputs(terms: HtlcTerms, amount: bigint): TxOutput[] {
  return [
    { value: amount, script: p2shOf(redeemScript(terms)) },
    { value: 0n, script: opReturnScript(terms.secretHash) },
  ];
}

/** What a taker owes for a swap. Base units; `burn` 0 outside KDF 2.x's KMD rule. `feeKey`: 33 bytes. */
export type DexFeeTerms = { readonly feeKey: Uint8Array; readonly fee: bigint; readonly burn: bigint };

/** Outputs of a dex fee transaction in their fixed order; change follows (4.4). P2PKH on segwit coins too. */
export function feeOutputs(terms: DexFeeTerms): TxOutput[] {
  const fee = { value: terms.fee, script: p2pkhScript(hash160(terms.feeKey)) };
  return terms.burn > 0n ? [fee, { value: terms.burn, script: BURN_SCRIPT }] : [fee];
}

export type PaymentFault =
  | BadTx
  | { readonly kind: "NoOutput"; readonly vout: number }
  | { readonly kind: "WrongScript"; readonly vout: number; readonly expected: Uint8Array; readonly got: Uint8Array }
  | { readonly kind: "WrongValue"; readonly vout: number; readonly expected: bigint; readonly got: bigint };

export type CheckedTx = { readonly tx: Tx; readonly txid: string };

function parsePeerTx(bytes: Uint8Array, format: TxFormat): Result<Tx, BadTx> {
  if (bytes.length > MAX_PEER_TX_BYTES) return err({ kind: "BadTx", detail: "larger than nodes relay" });
  return parseTx(bytes, format);
}

function checkOutput(tx: Tx, vout: number, script: Uint8Array, suits: (value: bigint) => boolean, expected: bigint): PaymentFault | null {
  const output = tx.outputs[vout];
  if (!output) return { kind: "NoOutput", vout };
  if (!equalBytes(output.script, script)) return { kind: "WrongScript", vout, expected: script, got: output.script };
  return suits(output.value) ? null : { kind: "WrongValue", vout, expected, got: output.value };
}

/**
 * Checks that received bytes are one transaction whose output 0 pays exactly `amount` to the contract (4.5). Whether it is
 * on the chain, deep and unspent is the caller's to ask.
 */
export function validatePayment(bytes: Uint8Array, format: TxFormat, terms: HtlcTerms, amount: bigint): Result<CheckedTx, PaymentFault> {
  const parsed = parsePeerTx(bytes, format);
  if (!parsed.ok) return parsed;
  const tx = parsed.value;
  const fault = checkOutput(tx, HTLC_VOUT, p2shOf(redeemScript(terms)), (value) => value === amount, amount);
  return fault ? err(fault) : ok({ tx, txid: txid(tx) });
}

export type FeeFault =
  | PaymentFault
  | { readonly kind: "NotSignedByTaker"; readonly input: number }
  /** All else fits, and verifying cost what it does. */
  | { readonly kind: "BadSignature"; readonly input: number }
  /** All else fits, and whether the taker signed it depends on what the outputs held that it spends. */
  | { readonly kind: "ValuesNeeded" }
  /** `most`: so many are verified. */
  | { readonly kind: "TooManyBareInputs"; readonly most: number };

/**
 * Inputs with nothing but a signature that are verified, each over all of the transaction: takers make up thousands, and each takes milliseconds in
 * which nothing else runs. So many of a transaction of any size, and more of a small one: a wallet takes its smallest outputs first, and anybody can
 * send it some.
 */
export const FEW_BARE_INPUTS = 20;
const MOST_BARE_INPUTS = 100;
/** Bytes that all these signatures together are over. */
const MOST_HASHED_BYTES = 2_000_000;

const mostBareInputs = (bytes: number): number =>
  Math.max(FEW_BARE_INPUTS, Math.min(MOST_BARE_INPUTS, Math.floor(MOST_HASHED_BYTES / bytes)));

export type ExpectedFee = DexFeeTerms & {
  /** The taker's HTLC key on this coin, 33 bytes: it must have signed every input. Null: who signed them is not asked. */
  readonly takerKey: Uint8Array | null;
  readonly scheme: SighashScheme;
  /** Value of a spent output, where known: only needed to check pay-to-public-key inputs of non-legacy coins. */
  readonly spentValue?: (outPoint: OutPoint) => bigint | null;
};

/** Whether it is a DER signature with its hash-type byte, of any valid length. */
function isDerSignature(item: Uint8Array | undefined): boolean {
  if (!item || item.length < 2) return false;
  try {
    secp256k1.Signature.fromBytes(item.subarray(0, -1), "der");
    return true;
  } catch {
    return false;
  }
}

/** A P2PK input has no key in it: the signature itself is checked, against both forms of the output script. */
function isSignedP2pk(tx: Tx, index: number, item: Uint8Array | undefined, takerKey: Uint8Array, expected: ExpectedFee): boolean {
  const input = tx.inputs[index];
  if (!input || !item || item.at(-1) !== sighashByte(expected.scheme)) return false;
  const value = expected.scheme.kind === "legacy" ? 0n : (expected.spentValue?.(input) ?? null);
  if (value === null) return false;
  return [takerKey, uncompressedPubkey(takerKey)].some((key) =>
    isSignature(item, takerKey, expected.scheme, () => inputDigest(tx, index, p2pkScript(key), value, expected.scheme)),
  );
}

/** The script whose outputs the first input of a fee spends, by how the taker's key unlocks it; null: in none of the ways that count. */
export function feePayer(raw: Uint8Array, format: TxFormat, takerKey: Uint8Array): Uint8Array | null {
  const tx = raw.length <= MAX_PEER_TX_BYTES ? parseTx(raw, format) : null;
  const input = tx?.ok ? tx.value.inputs[0] : undefined;
  const pushes = input ? pushesFor(input) : null;
  if (!input || !pushes) return null;
  if (isBare(input, pushes)) return p2pkScript(takerKey);
  const [, key] = pushes;
  if (key === undefined || pushes.length !== 2 || !isKeyOf(key, takerKey)) return null;
  if (input.witness.length === 0) return p2pkhScript(hash160(key));
  return input.scriptSig.length === 0 ? p2wpkhScript(hash160(key)) : p2shScript(hash160(p2wpkhScript(hash160(key))));
}

function isKeyOf(item: Uint8Array | undefined, key: Uint8Array): boolean {
  return item !== undefined && (equalBytes(item, key) || equalBytes(item, uncompressedPubkey(key)));
}

/** What unlocks an input: its witness, or what its script pushes; null where that does anything else. */
function pushesFor({ witness, scriptSig }: TxInput): readonly Uint8Array[] | null {
  if (witness.length > 0) return witness;
  return decodeScript(scriptSig)?.every((o) => o.data) ? pushesOf(scriptSig) : null;
}

/** Whether a signature alone unlocks it. */
const isBare = (input: TxInput | undefined, pushes: readonly Uint8Array[] | null): boolean =>
  input?.witness.length === 0 && pushes?.length === 1;

/** Whether it names the taker's key: then the chain verifies the signature. */
function namesKey(pushes: readonly Uint8Array[] | null, takerKey: Uint8Array): boolean {
  const [signature, key] = pushes ?? [];
  return pushes?.length === 2 && isDerSignature(signature) && isKeyOf(key, takerKey);
}

/**
 * Checks a received dex fee transaction (4.4): every input carries the taker's key, output 0 pays at least the fee to the
 * fee key, and output 1 burns at least the burnt part if there is one. The chain verifies the signatures; only those of
 * P2PK inputs, which do not name their key, are verified here, of 100 at most, and last: they cost most.
 */
export function validateFee(bytes: Uint8Array, format: TxFormat, expected: ExpectedFee): Result<CheckedTx, FeeFault> {
  const { takerKey } = expected;
  if (takerKey !== null && !isValidPubkey(takerKey)) throw new RangeError("validateFee: the taker's key is not a curve point");
  const parsed = parsePeerTx(bytes, format);
  if (!parsed.ok) return parsed;
  const tx = parsed.value;
  if (tx.inputs.length === 0) return err({ kind: "NotSignedByTaker", input: 0 });
  const [fee, burn] = feeOutputs(expected);
  const fault =
    (fee && checkOutput(tx, FEE_VOUT, fee.script, (value) => value >= expected.fee, expected.fee)) ??
    (burn && checkOutput(tx, BURN_VOUT, burn.script, (value) => value >= expected.burn, expected.burn));
  if (fault) return err(fault);
  if (takerKey === null) return ok({ tx, txid: txid(tx) });
  const pushes = tx.inputs.map(pushesFor);
  const bare = [...tx.inputs.keys()].filter((i) => isBare(tx.inputs[i], pushes[i] ?? null));
  // Where signatures cover values each spent transaction is asked for.
  const most = expected.scheme.kind === "legacy" ? mostBareInputs(bytes.length) : FEW_BARE_INPUTS;
  if (bare.length > most) return err({ kind: "TooManyBareInputs", most });
  const stranger = pushes.findIndex((p, i) => !bare.includes(i) && !namesKey(p, takerKey));
  if (stranger !== -1) return err({ kind: "NotSignedByTaker", input: stranger });
  if (bare.length > 0 && expected.scheme.kind !== "legacy" && !expected.spentValue) return err({ kind: "ValuesNeeded" });
  const unsigned = bare.find((i) => !isSignedP2pk(tx, i, pushes[i]?.[0], takerKey, expected));
  return unsigned === undefined ? ok({ tx, txid: txid(tx) }) : err({ kind: "BadSignature", input: unsigned });
}
