import { hash } from "node:crypto";
import { type RawTx, rawTxid } from "../../chainIndex/rawTx.ts";
import { readHeaderFields } from "../../core/proof/blockHeader.ts";
import type { HeaderLayout } from "../../core/proof/headerRules.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { ByteReader } from "../../core/utxo/byteReader.ts";
import { parseTxAt, type TxFormat } from "../../core/utxo/txCodec.ts";

/**
 * Largest block read, bytes. The largest limit of a supported chain is 32 MB; that of Bitcoin Cash follows its blocks from there (ABLA), and more than
 * a thousand full ones raise it to this. As hex it fits into what is read of a daemon.
 */
export const MAX_BLOCK_BYTES = 35_000_000;
/** Smallest transaction a block can hold: version, one input, one output, lock time. Those without either carry a longer payload. */
const MIN_TX_BYTES = 4 + 1 + 41 + 1 + 9 + 4;

export type ParsedBlock = { readonly prevHash: string; readonly timeSec: number; readonly txs: readonly RawTx[] };

export type BadBlock = { readonly kind: "BadBlock"; readonly detail: string };

const LAYOUTS: readonly HeaderLayout[] = ["plain", "equihash", "auxpow", "progpow", "accumulator"];

const sha256 = (data: Uint8Array): Buffer => hash("sha256", data, "buffer");
const sha256d = (data: Uint8Array): Buffer => sha256(sha256(data));

/** Merkle root over txids, display order in and out. */
function merkleRoot(txids: readonly string[]): string {
  let row = txids.map((id) => Buffer.from(id, "hex").reverse());
  while (row.length > 1) {
    const next: Buffer<ArrayBuffer>[] = [];
    for (let i = 0; i < row.length; i += 2) {
      const left = row[i] ?? Buffer.alloc(32);
      next.push(Buffer.from(sha256d(Buffer.concat([left, row[i + 1] ?? left]))));
    }
    row = next;
  }
  return (row[0] ?? Buffer.alloc(32)).reverse().toString("hex");
}

/** Branch of a Merkle tree: count, hashes, index. */
function skipBranch(r: ByteReader): void {
  r.slice(32 * r.count(32));
  r.u32();
}

/** Reads past the proof of a parent chain (Namecoin, `CAuxPow`). */
function skipParentProof(r: ByteReader, bytes: Uint8Array): void {
  const coinbase = parseTxAt(bytes, r.offset, { kind: "bitcoin" });
  if (!coinbase.ok) r.fail(coinbase.error.detail);
  else r.offset = coinbase.value.end;
  r.slice(32);
  skipBranch(r);
  skipBranch(r);
  r.slice(80);
}

function readTxs(r: ByteReader, bytes: Uint8Array, format: TxFormat): RawTx[] {
  const txs: RawTx[] = [];
  for (let n = r.count(MIN_TX_BYTES); n > 0 && r.problem === null; n--) {
    const start = r.offset;
    const parsed = parseTxAt(bytes, start, format);
    if (!parsed.ok) {
      r.fail(parsed.error.detail);
      break;
    }
    r.offset = parsed.value.end;
    const { tx } = parsed.value;
    const raw = bytes.subarray(start, r.offset);
    txs.push({ txid: rawTxid(tx, raw), tx, raw });
  }
  return txs;
}

function parseAs(bytes: Uint8Array, format: TxFormat, layout: HeaderLayout): Result<ParsedBlock, BadBlock> {
  const r = new ByteReader(bytes);
  const { prevHash, merkleRoot: root, timeSec, isMergeMined } = readHeaderFields(r, layout);
  if (isMergeMined) skipParentProof(r, bytes);
  const txs = r.problem === null ? readTxs(r, bytes, format) : [];
  if (r.problem !== null) return err({ kind: "BadBlock", detail: r.problem });
  if (txs.length === 0) return err({ kind: "BadBlock", detail: "no transactions" });
  if (merkleRoot(txs.map((t) => t.txid)) !== root) return err({ kind: "BadBlock", detail: "Merkle root does not match" });
  return ok({ prevHash, timeSec, txs });
}

/**
 * Reads a block as `getblock <hash> 0` gives it. Chains differ in what the header holds; the Merkle root tells which
 * layout is the right one, and that every transaction was read whole. What follows the transactions (block
 * signatures, extension blocks) is not looked at.
 *
 * @param first layout tried first: the one that fitted the block before
 */
export function parseBlock(
  bytes: Uint8Array,
  format: TxFormat,
  first: HeaderLayout = "plain",
): Result<{ readonly block: ParsedBlock; readonly layout: HeaderLayout }, BadBlock> {
  if (bytes.length > MAX_BLOCK_BYTES) return err({ kind: "BadBlock", detail: "block too large" });
  let failure: BadBlock | null = null;
  for (const layout of [first, ...LAYOUTS.filter((l) => l !== first)]) {
    const parsed = parseAs(bytes, format, layout);
    if (parsed.ok) return ok({ block: parsed.value, layout });
    failure ??= parsed.error;
  }
  return err(failure ?? { kind: "BadBlock", detail: "empty" });
}
