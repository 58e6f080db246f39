import { concatBytes, fromHex, reversed, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { ByteReader } from "./byteReader.ts";
import { ByteWriter } from "./byteWriter.ts";
import { hash256 } from "./hash.ts";
import { readSaplingTail, readSproutTail } from "./shieldedTail.ts";
import type { SaplingFields, Tx, TxInput, TxOutput } from "./tx.ts";

/**
 * How a chain serialises its transactions. Always taken from the coin's configuration, never guessed from the bytes.
 * - `bitcoin`: legacy and BIP-144 witness form. `mweb`: Litecoin's flag 8 (LIP-3): a zero after it in the block-final
 *   transaction, data of the extension block in one of the mempool.
 *   `specialTx`: the upper half of the version is a type, and typed transactions end with a payload (Dash, DIP-2), from version 3 on, or in that
 *   version alone, as its relatives have it: in a later one these take a type without a payload.
 * - `sapling`: Zcash up to v4: plain v1, Sprout v2, Overwinter v3 and Sapling v4 headers.
 */
export type TxFormat =
  | { readonly kind: "bitcoin"; readonly mweb?: boolean; readonly specialTx?: boolean | "version 3" }
  | { readonly kind: "sapling" };

export const BITCOIN_FORMAT: TxFormat = { kind: "bitcoin" };

export type BadTx = { readonly kind: "BadTx"; readonly detail: string };

/** Largest transaction read, bytes. No supported chain allows a larger block, and on some a transaction may be as large as one (Goldcoin). */
export const MAX_TX_BYTES = 32_000_000;

const WITNESS_FLAG = 1;
const MWEB_FLAG = 8;
/** Version from which a type in the upper half of the version word says that there is a payload (DIP-2). */
const FIRST_TYPED_VERSION = 3;
/**
 * What Dash pays out of its platform (DIP-27), and how many bytes at its end say by whom and when it was signed: from this version of the payload on they count
 * as zero in its id.
 */
const UNLOCK = { type: 9, payloadBytes: 145, signedBytes: 132, version: 2 } as const;
const OVERWINTERED = 0x80000000;
const OVERWINTER_GROUP_ID = 0x03c48270;
export const SAPLING_GROUP_ID = 0x892f2085;
/** Outpoint 36, empty script 1, sequence 4. */
const MIN_INPUT_BYTES = 36 + 1 + 4;
/** Value 8, empty script 1. */
const MIN_OUTPUT_BYTES = 8 + 1;
const LOCK_TIME_BYTES = 4;

function readInputs(r: ByteReader): TxInput[] {
  const inputs: TxInput[] = [];
  for (let n = r.count(MIN_INPUT_BYTES); n > 0 && r.problem === null; n--) {
    const txid = toHex(reversed(r.slice(32)));
    const vout = r.u32();
    const scriptSig = r.varBytes();
    inputs.push({ txid, vout, scriptSig, sequence: r.u32(), witness: [] });
  }
  return inputs;
}

function readOutputs(r: ByteReader): TxOutput[] {
  const outputs: TxOutput[] = [];
  for (let n = r.count(MIN_OUTPUT_BYTES); n > 0 && r.problem === null; n--) {
    const value = r.i64();
    if (value < 0n) r.fail("negative output value");
    outputs.push({ value, script: r.varBytes() });
  }
  return outputs;
}

function readWitness(r: ByteReader, inputs: readonly TxInput[]): TxInput[] {
  return inputs.map((input) => {
    const witness: Uint8Array[] = [];
    for (let n = r.count(1); n > 0 && r.problem === null; n--) witness.push(r.varBytes());
    return { ...input, witness };
  });
}

/**
 * Only in the mempool is there data of the extension block, and there a transaction stands alone: the data ends where the lock time begins.
 * What it says is of no matter here. One that is nothing but such data has an id of another kind.
 */
function readMweb(r: ByteReader, isBare: boolean): Pick<Tx, "hogEx" | "mwebData"> {
  if (r.peek() === 0) {
    r.u8();
    return { hogEx: true };
  }
  if (isBare || r.remaining <= LOCK_TIME_BYTES) r.fail("nothing but extension-block data");
  return { mwebData: r.slice(Math.max(0, r.remaining - LOCK_TIME_BYTES)) };
}

const isTyped = (version: number, { specialTx }: TxFormat & { kind: "bitcoin" }): boolean => Boolean(specialTx) && version >>> 16 !== 0;

function hasPayload(version: number, format: TxFormat & { kind: "bitcoin" }): boolean {
  const number = version & 0xffff;
  if (!isTyped(version, format)) return false;
  return format.specialTx === "version 3" ? number === FIRST_TYPED_VERSION : number >= FIRST_TYPED_VERSION;
}

function readBitcoin(r: ByteReader, format: TxFormat & { kind: "bitcoin" }): Tx {
  const version = r.u32();
  let inputs: TxInput[];
  let outputs: TxOutput[];
  let mweb: Pick<Tx, "hogEx" | "mwebData"> = {};
  // An empty input list followed by a non-zero byte is the BIP-144 marker and flag, but for what Dash pays out without any input (DIP-27).
  if (!isTyped(version, format) && r.peek() === 0 && r.peek(1) > 0) {
    r.u8();
    const flag = r.u8();
    const known = format.mweb ? WITNESS_FLAG | MWEB_FLAG : WITNESS_FLAG;
    if ((flag & ~known) !== 0) r.fail("unknown transaction flag");
    inputs = readInputs(r);
    outputs = readOutputs(r);
    if (flag & WITNESS_FLAG) {
      inputs = readWitness(r, inputs);
      if (inputs.every((i) => i.witness.length === 0)) r.fail("witness flag without a witness");
    }
    if (flag & MWEB_FLAG) {
      mweb = readMweb(r, inputs.length === 0);
    }
  } else {
    inputs = readInputs(r);
    outputs = readOutputs(r);
  }
  const lockTime = r.u32();
  const tx: Tx = { version, inputs, outputs, lockTime, ...mweb };
  if (!hasPayload(version, format)) return tx;
  const extraPayload = r.varBytes();
  const isUnlock = format.specialTx === true && version >>> 16 === UNLOCK.type && extraPayload.length === UNLOCK.payloadBytes;
  const isSignedBeside = isUnlock && (extraPayload[0] ?? 0) >= UNLOCK.version;
  return { ...tx, extraPayload, ...(isSignedBeside ? { isSignedBeside } : {}) };
}

function readSapling(r: ByteReader): Tx {
  const header = r.u32();
  const overwintered = (header & OVERWINTERED) !== 0;
  const version = header & ~OVERWINTERED;
  if (!overwintered) {
    const inputs = readInputs(r);
    const outputs = readOutputs(r);
    const tx: Tx = { version, inputs, outputs, lockTime: r.u32() };
    return version >= 2 ? { ...tx, sproutTail: readSproutTail(r) } : tx;
  }
  const versionGroupId = r.u32();
  const isSapling = version === 4 && versionGroupId === SAPLING_GROUP_ID;
  if (!isSapling && !(version === 3 && versionGroupId === OVERWINTER_GROUP_ID)) r.fail("unknown overwintered version");
  const inputs = readInputs(r);
  const outputs = readOutputs(r);
  const lockTime = r.u32();
  const expiryHeight = r.u32();
  const sapling: SaplingFields = isSapling
    ? { versionGroupId, expiryHeight, valueBalance: r.i64(), shieldedTail: readSaplingTail(r) }
    : { versionGroupId, expiryHeight, valueBalance: 0n, shieldedTail: readSproutTail(r) };
  return { version, sapling, inputs, outputs, lockTime };
}

/** Reads one transaction that starts at `offset`; `end` is the offset after it. Scripts are views into `bytes`. */
export function parseTxAt(bytes: Uint8Array, offset: number, format: TxFormat): Result<{ tx: Tx; end: number }, BadTx> {
  const r = new ByteReader(bytes, offset);
  const tx = format.kind === "bitcoin" ? readBitcoin(r, format) : readSapling(r);
  if (r.problem === null && r.offset - offset > MAX_TX_BYTES) r.fail("transaction too large");
  return r.problem === null ? ok({ tx, end: r.offset }) : err({ kind: "BadTx", detail: r.problem });
}

/** Reads exactly one transaction; bytes after it are refused. */
export function parseTx(bytes: Uint8Array, format: TxFormat): Result<Tx, BadTx> {
  if (bytes.length > MAX_TX_BYTES) return err({ kind: "BadTx", detail: "transaction too large" });
  const parsed = parseTxAt(bytes, 0, format);
  if (!parsed.ok) return parsed;
  return parsed.value.end === bytes.length ? ok(parsed.value.tx) : err({ kind: "BadTx", detail: "data after the transaction" });
}

/**
 * The bytes of a transaction without its witness, where that has more than `maxItems` items or makes more than `maxBytes` of it: no id covers a
 * witness, so whoever gives the bytes can make it up, and each item takes a hundred bytes in memory. All others as they are.
 */
export function withoutLongWitness(bytes: Uint8Array, format: TxFormat, maxItems: number, maxBytes: number): Uint8Array {
  const flag = bytes[5] ?? 0;
  if (bytes.length <= Math.min(maxItems, maxBytes)) return bytes;
  if (format.kind !== "bitcoin" || bytes[4] !== 0 || (flag & WITNESS_FLAG) === 0) return bytes;
  const r = new ByteReader(bytes, 6);
  const inputs = r.count(MIN_INPUT_BYTES);
  for (let n = inputs; n > 0 && r.problem === null; n--) {
    r.slice(36);
    r.varBytes();
    r.slice(4);
  }
  for (let n = r.count(MIN_OUTPUT_BYTES); n > 0 && r.problem === null; n--) {
    r.slice(8);
    r.varBytes();
  }
  const bodyEnd = r.offset;
  let isLong = bytes.length > maxBytes;
  for (let i = 0, items = 0; i < inputs && !isLong && r.problem === null; i++) {
    const count = r.count(1);
    items += count;
    isLong = items > maxItems;
    for (let n = count; n > 0 && !isLong && r.problem === null; n--) r.varBytes();
  }
  if (!isLong || r.problem !== null) return bytes;
  return concatBytes(bytes.subarray(0, 4), bytes.subarray(6, bodyEnd), bytes.subarray(-LOCK_TIME_BYTES));
}

export function hasWitness(tx: Tx): boolean {
  return tx.inputs.some((i) => i.witness.length > 0);
}

/** Whether the bytes hold more than its id is made of. */
export const hasMoreThanId = (tx: Tx): boolean =>
  hasWitness(tx) || tx.hogEx === true || tx.mwebData !== undefined || tx.isSignedBeside === true;

function writeInputs(w: ByteWriter, inputs: readonly TxInput[]): void {
  w.compactSize(inputs.length);
  for (const i of inputs)
    w.bytes(reversed(fromHex(i.txid)))
      .u32(i.vout)
      .varBytes(i.scriptSig)
      .u32(i.sequence);
}

export function writeOutputs(w: ByteWriter, outputs: readonly TxOutput[]): void {
  w.compactSize(outputs.length);
  for (const o of outputs) w.i64(o.value).varBytes(o.script);
}

const withoutSigning = (payload: Uint8Array): Uint8Array =>
  concatBytes(payload.subarray(0, -UNLOCK.signedBytes), new Uint8Array(UNLOCK.signedBytes));

/** The header's version word: overwintered transactions set the top bit. */
export function versionWord(tx: Tx): number {
  return (tx.sapling ? tx.version | OVERWINTERED : tx.version) >>> 0;
}

/**
 * Network serialisation. The fields present in `tx` decide the form, so a parsed transaction gives back its bytes.
 * @param options.witness false leaves out the BIP-144 parts, and what else is no part of a txid; default true
 */
export function serializeTx(tx: Tx, options: { readonly witness?: boolean } = {}): Uint8Array {
  const w = new ByteWriter();
  w.u32(versionWord(tx));
  if (tx.sapling) w.u32(tx.sapling.versionGroupId);
  const full = options.witness !== false && !tx.sapling;
  const flag = full ? (hasWitness(tx) ? WITNESS_FLAG : 0) | (tx.hogEx || tx.mwebData ? MWEB_FLAG : 0) : 0;
  if (flag !== 0) w.u8(0).u8(flag);
  writeInputs(w, tx.inputs);
  writeOutputs(w, tx.outputs);
  if (flag & WITNESS_FLAG) {
    for (const i of tx.inputs) {
      w.compactSize(i.witness.length);
      for (const item of i.witness) w.varBytes(item);
    }
  }
  if (flag & MWEB_FLAG) w.bytes(tx.mwebData ?? Uint8Array.of(0));
  w.u32(tx.lockTime);
  if (tx.sapling) {
    w.u32(tx.sapling.expiryHeight);
    if (tx.sapling.versionGroupId === SAPLING_GROUP_ID) w.i64(tx.sapling.valueBalance);
    w.bytes(tx.sapling.shieldedTail);
  }
  if (tx.sproutTail) w.bytes(tx.sproutTail);
  if (tx.extraPayload) w.varBytes(tx.isSignedBeside && !full ? withoutSigning(tx.extraPayload) : tx.extraPayload);
  return w.done();
}

const ids = new WeakMap<Tx, string>();

/** Transaction id in display order: double SHA-256 of the form without witness, reversed, hex. Worked out once for each object. */
export function txid(tx: Tx): string {
  let id = ids.get(tx);
  if (id === undefined) {
    id = toHex(reversed(hash256(serializeTx(tx, { witness: false }))));
    ids.set(tx, id);
  }
  return id;
}

/** BIP-141 weight: three times the size without witness plus the full size. Extension-block parts weigh nothing. */
export function txWeight(tx: Tx): number {
  const { hogEx: _, mwebData: __, ...plain } = tx;
  return 3 * serializeTx(plain, { witness: false }).length + serializeTx(plain).length;
}

/** Virtual size in bytes: a quarter of the weight, rounded up. */
export function vsize(tx: Tx): number {
  return Math.ceil(txWeight(tx) / 4);
}
