import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { RawTx } from "../../chainIndex/rawTx.ts";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { laterLeaf } from "../../core/proof/laterLeaf.ts";
import { type BranchAnswer, parsePlacedTx } from "./answers.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { TxProver } from "./txProver.ts";

/** Transactions asked for at once. */
const AT_ONCE = 20;
/** Transactions of a block that are read: more than fit into the largest that are made. */
const MAX_TXS = 100_000;

/**
 * What a block's transactions may take in memory, bytes: a block of 32 MB with usual ones has room. Where blocks cost nothing most servers
 * can make up any.
 */
const MAX_BYTES = 100_000_000;
/** Beside the bytes of a transaction, for each of its inputs and outputs. */
const PART_BYTES = 200;

/** One transaction of a block, with who gave it. `isNew`: its bytes as well. `depth`: of its leaf. `later`: see `laterLeaf`. */
export type PlacedTx = {
  readonly tx: RawTx;
  readonly server: RemoteServer;
  readonly isNew: boolean;
  readonly depth: number;
  readonly later: number | null;
};

/**
 * All transactions of one block, read one by one over servers that know no blocks. Each is proven to stand in its place, and so is which
 * one is the last: one server is enough, and none can leave anything out but by giving nothing.
 */
export class BlockTxs {
  readonly height: number;
  readonly header: BlockHeader;
  readonly #index: ChainIndex;
  readonly #prover: TxProver;
  readonly #read: RawTx[] = [];
  readonly #early = new Map<number, PlacedTx>();
  /** The last one's position; null: not known yet. */
  #last: number | null = null;
  #edge = 0;
  #bytes = 0;
  #next = 0;
  /** How deep the block's tree is; null: the first transaction was not read yet. */
  #depth: number | null = null;

  constructor(height: number, header: BlockHeader, index: ChainIndex, prover: TxProver) {
    this.height = height;
    this.header = header;
    this.#index = index;
    this.#prover = prover;
  }

  get isWhole(): boolean {
    return this.#last !== null && this.#next > this.#last;
  }

  /** Those read so far, in the order of the block. */
  get txs(): readonly RawTx[] {
    return this.#read;
  }

  /**
   * Reads some more.
   *
   * @param onTx hears of each
   * @returns false: no server gives what is next, or it is larger than any block
   */
  async more(servers: readonly RemoteServer[], onTx: (placed: PlacedTx) => void): Promise<boolean> {
    if (this.#bytes > MAX_BYTES) return false;
    if (this.#last === null) return this.#findLast(servers, onTx);
    const count = Math.min(AT_ONCE, this.#last + 1 - this.#next);
    const places = Array.from({ length: count }, (_, i) => this.#next + i);
    const placed = await Promise.all(places.map(async (pos) => this.#early.get(pos) ?? this.#place(servers, pos)));
    for (const [i, one] of placed.entries()) {
      // What came behind it is asked for again.
      if (one === null) return false;
      if (!this.#early.delete(places[i] ?? 0)) onTx(one);
      this.#keep(one.tx);
      this.#next++;
    }
    return true;
  }

  #keep(tx: RawTx): void {
    this.#read.push(tx);
    this.#bytes += tx.raw.length + PART_BYTES * (tx.tx.inputs.length + tx.tx.outputs.length);
  }

  async #findLast(servers: readonly RemoteServer[], onTx: (placed: PlacedTx) => void): Promise<boolean> {
    const placed = await this.#place(servers, this.#edge);
    if (placed === null) return false;
    this.#depth ??= placed.depth;
    onTx(placed);
    this.#early.set(this.#edge, placed);
    if (placed.later === null) this.#last = this.#edge;
    else if (placed.later >= MAX_TXS) return false;
    else this.#edge = placed.later;
    return true;
  }

  /** The first answer that proves itself; each position begins with another server. */
  async #place(servers: readonly RemoteServer[], pos: number): Promise<PlacedTx | null> {
    for (const [i] of servers.entries()) {
      const server = servers[(pos + i) % servers.length];
      if (server === undefined || server.state !== "connected") continue;
      // ElectrumX counts each request it refuses for a hundred: one that is behind would cut this node off within one block.
      if ((server.tip?.height ?? this.height) < this.height) continue;
      const placed = await server.ask("blockchain.transaction.id_from_pos", [this.height, pos, true], parsePlacedTx);
      if (!placed.ok) continue;
      const { txid, branch } = placed.value;
      const known = this.#index.tx(txid);
      const tx = known ? this.#prover.read(known.raw) : await this.#prover.fetch(txid, [server]);
      if (tx === null || !this.#stands(tx, { branch, pos })) continue;
      return { tx, server, isNew: known === undefined, depth: branch.length, later: laterLeaf(txid, branch, pos) };
    }
    return null;
  }

  /**
   * Every transaction must be read here, also one that alone could be a node of the tree (64 bytes, or a node above it that looks like
   * one): all stand as deep as the first, the coinbase.
   */
  #stands(tx: RawTx, { branch, pos }: BranchAnswer): boolean {
    if (this.#depth === null) return this.#prover.isFirst(tx, this.header, branch);
    const flaw = this.#prover.flaw(tx, this.header, { branch, pos });
    return branch.length === this.#depth && (flaw === null || flaw.kind === "NodeIsTx");
  }
}
