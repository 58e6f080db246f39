import { createHash } from "node:crypto";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { err, ok, type Result } from "../../src/core/util/result.ts";
import { ByteWriter } from "../../src/core/utxo/byteWriter.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { parseTx, serializeTx, type TxFormat, txid } from "../../src/core/utxo/txCodec.ts";
import type { DaemonError, DaemonRpc } from "../../src/ports/daemonRpc.ts";

export type FakeBlock = { readonly hash: string; readonly prevHash: string; readonly timeSec: number; readonly txs: readonly Tx[] };

type Method = (params: readonly unknown[]) => unknown;

const sha256d = (b: Uint8Array): Buffer => createHash("sha256").update(createHash("sha256").update(b).digest()).digest();
const display = (b: Uint8Array): string => Buffer.from(b).reverse().toString("hex");
const ZERO = "0".repeat(64);
const FORMAT: TxFormat = { kind: "bitcoin" };

/** A refusal with a code, as a daemon makes it. */
class Refusal {
  readonly error: DaemonError;
  constructor(code: number, message: string) {
    this.error = { kind: "rpc", code, message };
  }
}

function merkle(ids: readonly string[]): Buffer {
  let row = ids.map((id) => Buffer.from(id, "hex").reverse());
  while (row.length > 1) {
    const next: Buffer<ArrayBuffer>[] = [];
    for (let i = 0; i < row.length; i += 2) {
      const left = row[i] ?? Buffer.alloc(32);
      next.push(Buffer.from(sha256d(Buffer.concat([left, row[i + 1] ?? left]))));
    }
    row = next;
  }
  return row[0] ?? Buffer.alloc(32);
}

/**
 * A coin daemon reduced to bookkeeping: real block and transaction bytes, no validation, no wallet, no transaction
 * index. Everything a test wants to happen to it is a method; everything it may answer wrongly goes through `override`.
 */
export class ScriptedDaemon implements DaemonRpc {
  readonly blocks: FakeBlock[] = [];
  readonly mempool = new Map<string, Tx>();
  /** Blocks below this height are pruned. */
  prunedBelow = 0;
  /** Knows `getblockfrompeer`, as Bitcoin Core 23 does, and has these peers; null: it does not. `gives`: blocks that it is asked for. */
  peers: readonly { readonly id: number; readonly isFull: boolean; readonly gives: boolean }[] | null = null;
  /** Peers that were asked for pruned blocks, by height. */
  readonly blockRequests = new Map<number, number[]>();
  /** Blocks that peers gave again, by hash. */
  readonly fetched = new Set<string>();
  /** Answers `scantxoutset`, as Bitcoin Core does. */
  scansUtxoSet = false;
  relayFee = 0.00001;
  notarized: number | null = null;
  /** Calls so far, by method. */
  readonly calls = new Map<string, number>();
  /** Replaces the answer of a method. */
  readonly override = new Map<string, Method>();
  readonly #methods: ReadonlyMap<string, Method>;
  #counter = 0;

  constructor(startSec = 1_700_000_000) {
    this.#append([], startSec);
    this.#methods = new Map(Object.entries(this.#makeMethods()));
  }

  get height(): number {
    return this.blocks.length - 1;
  }

  #append(txs: readonly Tx[], timeSec: number): void {
    const height = this.blocks.length;
    const prevHash = this.blocks.at(-1)?.hash ?? ZERO;
    const script = new ByteWriter()
      .u32(height)
      .u32(this.#counter++)
      .done();
    const coinbase: Tx = {
      version: 1,
      inputs: [{ txid: ZERO, vout: 0xffffffff, scriptSig: script, sequence: 0xffffffff, witness: [] }],
      outputs: [{ value: 50_00000000n, script: fromHex("6a") }],
      lockTime: 0,
    };
    const all = [coinbase, ...txs];
    const header = new ByteWriter()
      .u32(1)
      .bytes(Buffer.from(prevHash, "hex").reverse())
      .bytes(merkle(all.map(txid)))
      .u32(timeSec)
      .u32(0x207fffff)
      .u32(0)
      .done();
    this.blocks.push({ hash: display(sha256d(header)), prevHash, timeSec, txs: all });
    this.#headers.set(this.blocks.at(-1)?.hash ?? "", header);
  }

  readonly #headers = new Map<string, Uint8Array>();

  /** Mines the mempool (or exactly `txs`) into one block, then empty ones. */
  mine(count = 1, txs: readonly Tx[] = [...this.mempool.values()]): void {
    for (let i = 0; i < count; i++) {
      const mined = i === 0 ? txs : [];
      this.#append(mined, (this.blocks.at(-1)?.timeSec ?? 0) + 60);
      for (const tx of mined) this.mempool.delete(txid(tx));
    }
  }

  /** Takes `depth` blocks off; their transactions go back to the mempool unless forgotten. Then mines `count` empty ones. */
  reorg(depth: number, count: number, forget: readonly string[] = []): void {
    for (const block of this.blocks.splice(this.blocks.length - depth)) {
      for (const tx of block.txs.slice(1)) if (!forget.includes(txid(tx))) this.mempool.set(txid(tx), tx);
    }
    this.mine(count, []);
  }

  send(tx: Tx): string {
    this.mempool.set(txid(tx), tx);
    return txid(tx);
  }

  rawBlock(height: number): Uint8Array {
    const block = this.#at(height);
    const w = new ByteWriter().bytes(this.#headers.get(block.hash) ?? new Uint8Array(80)).compactSize(block.txs.length);
    for (const tx of block.txs) w.bytes(serializeTx(tx));
    return w.done();
  }

  async call(method: string, params: readonly unknown[]): Promise<Result<unknown, DaemonError>> {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    const run = this.override.get(method) ?? this.#methods.get(method);
    if (run === undefined) return err({ kind: "rpc", code: -32601, message: "Method not found" });
    try {
      return ok(await run(params));
    } catch (refusal) {
      if (refusal instanceof Refusal) return err(refusal.error);
      throw refusal;
    }
  }

  #at(height: unknown): FakeBlock {
    const block = typeof height === "number" ? this.blocks[height] : undefined;
    if (block === undefined) throw new Refusal(-8, "Block height out of range");
    return block;
  }

  #byHash(hash: unknown): { readonly block: FakeBlock; readonly height: number } {
    const height = this.blocks.findIndex((b) => b.hash === hash);
    if (height < 0) throw new Refusal(-5, "Block not found");
    return { block: this.#at(height), height };
  }

  /** Unspent outputs in blocks, to any of `scripts`. */
  #unspents(scripts: readonly string[]): unknown[] {
    const spent = new Set(this.blocks.flatMap((b) => b.txs.flatMap((t) => t.inputs.map((i) => `${i.txid}:${i.vout}`))));
    return this.blocks.flatMap((b, height) =>
      b.txs.flatMap((tx) =>
        tx.outputs.flatMap((o, vout) => {
          const scriptPubKey = toHex(o.script);
          if (!scripts.includes(scriptPubKey) || spent.has(`${txid(tx)}:${vout}`)) return [];
          return [{ txid: txid(tx), vout, scriptPubKey, amount: Number(o.value) / 1e8, height }];
        }),
      ),
    );
  }

  #makeMethods(): { readonly [name: string]: Method } {
    return {
      getbestblockhash: () => this.#at(this.height).hash,
      getblockhash: ([height]) => this.#at(height).hash,
      getblockheader: ([hash]) => {
        const { block, height } = this.#byHash(hash);
        return { hash: block.hash, height, time: block.timeSec, ...(height > 0 ? { previousblockhash: block.prevHash } : {}) };
      },
      getblock: ([hash]) => {
        const { height } = this.#byHash(hash);
        if (height < this.prunedBelow && !this.fetched.has(String(hash))) throw new Refusal(-1, "Block not available (pruned data)");
        return toHex(this.rawBlock(height));
      },
      getpeerinfo: () =>
        (this.peers ?? []).map(({ id, isFull }) => ({
          id,
          servicesnames: isFull ? ["NETWORK", "WITNESS"] : ["WITNESS", "NETWORK_LIMITED"],
        })),
      getblockfrompeer: ([hash, id]) => {
        if (this.peers === null) throw new Refusal(-32601, "Method not found");
        const peer = this.peers.find((p) => p.id === id);
        const { height } = this.#byHash(hash);
        if (height >= this.prunedBelow || this.fetched.has(String(hash))) throw new Refusal(-1, "Block already downloaded");
        if (peer === undefined) throw new Refusal(-1, "Peer does not exist");
        this.blockRequests.set(height, [...(this.blockRequests.get(height) ?? []), peer.id]);
        if (peer.isFull && peer.gives) this.fetched.add(String(hash));
        return {};
      },
      getrawmempool: () => [...this.mempool.keys()],
      getrawtransaction: ([id, _verbosity, hash]) => {
        const tx = hash === undefined ? this.mempool.get(String(id)) : this.#byHash(hash).block.txs.find((t) => txid(t) === id);
        if (tx === undefined) throw new Refusal(-5, "No such mempool transaction");
        return toHex(serializeTx(tx));
      },
      gettxout: ([id, vout]) => {
        const made = this.blocks.flatMap((b) => b.txs).find((t) => txid(t) === id);
        const spent = this.blocks.some((b) => b.txs.some((t) => t.inputs.some((i) => i.txid === id && i.vout === vout)));
        return made === undefined || spent ? null : { coinbase: made.inputs[0]?.txid === ZERO };
      },
      sendrawtransaction: ([hex]) => {
        const tx = parseTx(fromHex(String(hex)), FORMAT);
        if (!tx.ok) throw new Refusal(-22, "TX decode failed");
        const id = txid(tx.value);
        if (this.blocks.some((b) => b.txs.some((t) => txid(t) === id))) throw new Refusal(-27, "Transaction already in block chain");
        if (this.mempool.has(id)) throw new Refusal(-26, "txn-already-in-mempool");
        return this.send(tx.value);
      },
      getnetworkinfo: () => ({ relayfee: this.relayFee }),
      estimatesmartfee: () => ({ errors: ["Insufficient data or no feerate found"], blocks: 2 }),
      scantxoutset: ([, wanted]) => {
        if (!this.scansUtxoSet) throw new Refusal(-32601, "Method not found");
        const scripts = (Array.isArray(wanted) ? wanted : []).map((d: unknown) => String(d).slice(4, -1));
        const unspents = this.#unspents(scripts);
        return { success: true, height: this.height, bestblock: this.#at(this.height).hash, unspents, total_amount: 0 };
      },
      getinfo: () => {
        if (this.notarized === null) throw new Refusal(-32601, "Method not found");
        return { notarized: this.notarized };
      },
    };
  }
}
