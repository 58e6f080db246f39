import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes, fromHex, reversed } from "../util/bytes.ts";
import { ByteWriter, compactSizeLength } from "./byteWriter.ts";
import { hash256 } from "./hash.ts";
import { removeCodeSeparators } from "./script.ts";
import { signedShieldedParts } from "./shieldedTail.ts";
import type { SaplingFields, Tx, TxInput, TxOutput } from "./tx.ts";
import { SAPLING_GROUP_ID, versionWord, writeOutputs } from "./txCodec.ts";

export const SIGHASH_ALL = 1;
const SIGHASH_NONE = 2;
const SIGHASH_SINGLE = 3;
const SIGHASH_ANYONECANPAY = 0x80;
/** Marks the replay-protected digest of the Bitcoin Cash family. */
export const SIGHASH_FORKID = 0x40;
/** Marks the digest that covers the spent outputs, too: Bitcoin Cash has it since May 2023, never beside `SIGHASH_ANYONECANPAY`. */
const SIGHASH_UTXOS = 0x20;

/** NONE and SINGLE are read from the low five bits; every other value behaves as ALL. */
const baseType = (hashType: number): number => hashType & 0x1f;

function writeOutpoint(w: ByteWriter, input: TxInput): void {
  w.bytes(reversed(fromHex(input.txid))).u32(input.vout);
}

function inputAt(tx: Tx, index: number): TxInput {
  const input = tx.inputs[index];
  if (!input) throw new RangeError(`sighash: no input ${index}`);
  return input;
}

/** What the original client hashes for SIGHASH_SINGLE without a matching output: the number one, little-endian. */
function one(): Uint8Array {
  const digest = new Uint8Array(32);
  digest[0] = 1;
  return digest;
}

/** Outpoint, no script, sequence. */
const BLANK_INPUT_BYTES = 36 + 1 + 4;

/** All inputs as the original scheme writes those that are not signed. */
function blankInputs(tx: Tx, sequenceOf: (input: TxInput) => number): Uint8Array {
  const w = new ByteWriter(tx.inputs.length * BLANK_INPUT_BYTES);
  for (const input of tx.inputs) {
    writeOutpoint(w, input);
    w.compactSize(0).u32(sequenceOf(input));
  }
  return w.done();
}

const finalInputsOf = new WeakMap<Tx, Uint8Array>();

/** With their own sequences; made once for a transaction: to sign hundreds of inputs all of them are written for each. */
function finalInputs(tx: Tx): Uint8Array {
  let inputs = finalInputsOf.get(tx);
  if (inputs === undefined) {
    inputs = blankInputs(tx, ({ sequence }) => sequence);
    finalInputsOf.set(tx, inputs);
  }
  return inputs;
}

/**
 * Digest of the original signature scheme, all hash types, its SIGHASH_SINGLE quirk included. OP_CODESEPARATOR is taken
 * out of `scriptCode`; removing the signature itself is the interpreter's duty. Every type covers the payload of a typed transaction (DIP-2).
 *
 * @param scriptCode script being satisfied: the output script, or the redeem script of a P2SH output
 * @param hashType the signature's last byte (the interpreter may pass any u32)
 */
export function legacyDigest(tx: Tx, index: number, scriptCode: Uint8Array, hashType: number): Uint8Array {
  const signed = inputAt(tx, index);
  const type = baseType(hashType);
  if (type === SIGHASH_SINGLE && index >= tx.outputs.length) return one();
  const script = removeCodeSeparators(scriptCode);
  const w = new ByteWriter(512);
  w.u32(versionWord(tx));
  if (hashType & SIGHASH_ANYONECANPAY) {
    w.compactSize(1);
    writeOutpoint(w, signed);
    w.varBytes(script).u32(signed.sequence);
  } else {
    const others = type === SIGHASH_NONE || type === SIGHASH_SINGLE ? blankInputs(tx, () => 0) : finalInputs(tx);
    w.compactSize(tx.inputs.length).bytes(others.subarray(0, index * BLANK_INPUT_BYTES));
    writeOutpoint(w, signed);
    w.varBytes(script).u32(signed.sequence);
    w.bytes(others.subarray((index + 1) * BLANK_INPUT_BYTES));
  }
  if (type === SIGHASH_NONE) w.compactSize(0);
  else if (type === SIGHASH_SINGLE) {
    w.compactSize(index + 1);
    for (let i = 0; i < index; i++) w.u64(0xffffffffffffffffn).compactSize(0);
    writeOutput(w, tx.outputs[index]);
  } else writeOutputs(w, tx.outputs);
  w.u32(tx.lockTime);
  if (tx.extraPayload) w.varBytes(tx.extraPayload);
  return hash256(w.u32(hashType >>> 0).done());
}

function writeOutput(w: ByteWriter, output: TxOutput | undefined): void {
  if (output) w.i64(output.value).varBytes(output.script);
}

type Hasher = (data: Uint8Array, purpose: keyof typeof SAPLING_PERSONAL) => Uint8Array;

const ZERO32 = new Uint8Array(32);

function prevoutsHash(tx: Tx, hash: Hasher): Uint8Array {
  const w = new ByteWriter(tx.inputs.length * 36);
  for (const i of tx.inputs) writeOutpoint(w, i);
  return hash(w.done(), "prevouts");
}

function sequenceHash(tx: Tx, hash: Hasher): Uint8Array {
  const w = new ByteWriter(tx.inputs.length * 4);
  for (const i of tx.inputs) w.u32(i.sequence);
  return hash(w.done(), "sequence");
}

function outputsHash(outputs: readonly TxOutput[], hash: Hasher): Uint8Array {
  const w = new ByteWriter(outputs.reduce((n, o) => n + 8 + compactSizeLength(o.script.length) + o.script.length, 0));
  for (const o of outputs) writeOutput(w, o);
  return hash(w.done(), "outputs");
}

/** What the digests of all inputs have in common. */
type SharedHashes = { readonly prevouts: Uint8Array; readonly sequence: Uint8Array; readonly outputs: Uint8Array };

/**
 * Made once for a transaction: anybody can send an address hundreds of small outputs, and hashing the outpoints of all of them anew for each input held the
 * node up for half a minute.
 */
function sharedHashes(tx: Tx, hash: Hasher, made: WeakMap<Tx, SharedHashes>): SharedHashes {
  let shared = made.get(tx);
  if (shared === undefined) {
    shared = { prevouts: prevoutsHash(tx, hash), sequence: sequenceHash(tx, hash), outputs: outputsHash(tx.outputs, hash) };
    made.set(tx, shared);
  }
  return shared;
}

const bip143Hashes = new WeakMap<Tx, SharedHashes>();
const saplingHashes = new WeakMap<Tx, SharedHashes>();

/** What a signature of this type covers of them: the rest is zero (BIP-143, and ZIP-243 the same). */
function coveredHashes(tx: Tx, index: number, hashType: number, hash: Hasher, made: WeakMap<Tx, SharedHashes>): SharedHashes {
  const type = baseType(hashType);
  const isAll = type !== SIGHASH_SINGLE && type !== SIGHASH_NONE;
  const anyone = (hashType & SIGHASH_ANYONECANPAY) !== 0;
  const shared = sharedHashes(tx, hash, made);
  const single = type === SIGHASH_SINGLE ? tx.outputs[index] : undefined;
  return {
    prevouts: anyone ? ZERO32 : shared.prevouts,
    sequence: anyone || !isAll ? ZERO32 : shared.sequence,
    outputs: isAll ? shared.outputs : single ? outputsHash([single], hash) : ZERO32,
  };
}

/** @param utxos hash of the spent outputs, where it is covered */
function bip143Digest(
  tx: Tx,
  index: number,
  scriptCode: Uint8Array,
  amount: bigint,
  hashType: number,
  utxos: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const input = inputAt(tx, index);
  const { prevouts, sequence, outputs } = coveredHashes(tx, index, hashType, hash256, bip143Hashes);
  const w = new ByteWriter(512);
  w.u32(versionWord(tx)).bytes(prevouts).bytes(utxos).bytes(sequence);
  writeOutpoint(w, input);
  w.varBytes(scriptCode).u64(amount).u32(input.sequence).bytes(outputs);
  return hash256(
    w
      .u32(tx.lockTime)
      .u32(hashType >>> 0)
      .done(),
  );
}

/**
 * Digest for version-0 witness programs (BIP-143), all hash types.
 *
 * @param scriptCode P2PKH script of the key hash for P2WPKH; the witness script for P2WSH, cut after the last executed
 *   OP_CODESEPARATOR by the interpreter
 * @param amount value of the spent output, base units
 */
export function segwitV0Digest(tx: Tx, index: number, scriptCode: Uint8Array, amount: bigint, hashType: number): Uint8Array {
  return bip143Digest(tx, index, scriptCode, amount, hashType);
}

/**
 * Digest of the Bitcoin Cash family: BIP-143 with 0x40 in the hash type and the fork number in the upper 24 bits
 * (the replay-protected sighash specification of the 2017 fork).
 *
 * @param forkNumber 0 for Bitcoin Cash; 79 for Bitcoin Gold
 * @param spent the spent outputs, as far as they are known; throws where the hash type covers them and one is not, or may not cover them
 */
export function forkIdDigest(
  tx: Tx,
  index: number,
  scriptCode: Uint8Array,
  amount: bigint,
  forkNumber = 0,
  hashType = SIGHASH_ALL,
  spent: readonly TxOutput[] = [],
): Uint8Array {
  const coversSpent = (hashType & SIGHASH_UTXOS) !== 0;
  if (coversSpent && (spent.length !== tx.inputs.length || hashType & SIGHASH_ANYONECANPAY)) throw new RangeError("sighash: spent outputs");
  const utxos = coversSpent ? outputsHash(spent, hash256) : undefined;
  return bip143Digest(tx, index, scriptCode, amount, (hashType | SIGHASH_FORKID | (forkNumber << 8)) >>> 0, utxos);
}

/** BLAKE2b personalisations of ZIP-243. */
const SAPLING_PERSONAL = {
  prevouts: "ZcashPrevoutHash",
  sequence: "ZcashSequencHash",
  outputs: "ZcashOutputsHash",
  joinSplits: "ZcashJSplitsHash",
  shieldedSpends: "ZcashSSpendsHash",
  shieldedOutputs: "ZcashSOutputHash",
} as const;

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0));

const blake = (data: Uint8Array, personalization: Uint8Array): Uint8Array => blake2b(data, { dkLen: 32, personalization });

const saplingHash: Hasher = (data, purpose) => blake(data, ascii(SAPLING_PERSONAL[purpose]));

const shieldedHashesOf = new WeakMap<SaplingFields, Uint8Array>();

/** Of JoinSplits, shielded spends and shielded outputs, one after the other, zero where there are none; made once for a transaction. */
function shieldedHashes(sapling: SaplingFields): Uint8Array {
  let hashes = shieldedHashesOf.get(sapling);
  if (hashes === undefined) {
    const { joinSplits, spends, outputs } = signedShieldedParts(sapling.shieldedTail);
    const hash: Hasher = (data, purpose) => (data.length > 0 ? saplingHash(data, purpose) : ZERO32);
    hashes = concatBytes(hash(joinSplits, "joinSplits"), hash(spends, "shieldedSpends"), hash(outputs, "shieldedOutputs"));
    shieldedHashesOf.set(sapling, hashes);
  }
  return hashes;
}

/**
 * Digest of a v4 transaction (ZIP-243), all hash types; each covers all shielded parts. No other form has a digest here: chains of this family
 * take none since Sapling, neither those without the overwintered bit (v1, v2) nor v3 (`ContextualCheckTransaction` of komodod and zcashd).
 *
 * @param branchId consensus branch id of the network upgrade in force; 0x76b809bb on the Komodo family
 * @throws on a transaction of another form
 */
export function saplingDigest(
  tx: Tx,
  index: number,
  scriptCode: Uint8Array,
  amount: bigint,
  branchId: number,
  hashType = SIGHASH_ALL,
): Uint8Array {
  const { sapling } = tx;
  if (sapling?.versionGroupId !== SAPLING_GROUP_ID) throw new RangeError("saplingDigest: not a v4 transaction");
  const input = inputAt(tx, index);
  const { prevouts, sequence, outputs } = coveredHashes(tx, index, hashType, saplingHash, saplingHashes);
  const w = new ByteWriter(512);
  w.u32(versionWord(tx)).u32(sapling.versionGroupId).bytes(prevouts).bytes(sequence).bytes(outputs);
  w.bytes(shieldedHashes(sapling));
  w.u32(tx.lockTime).u32(sapling.expiryHeight).i64(sapling.valueBalance).u32(hashType);
  writeOutpoint(w, input);
  w.varBytes(scriptCode).u64(amount).u32(input.sequence);
  const branch = new ByteWriter(4).u32(branchId >>> 0).done();
  return blake(w.done(), Uint8Array.from([...ascii("ZcashSigHash"), ...branch]));
}
