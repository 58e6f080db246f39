import { toHex } from "../../core/util/bytes.ts";
import { type BlockHeader, serializeHeader } from "../block.ts";
import type { BlockEntry } from "../chainState.ts";
import type { ChainTx } from "../chainTx.ts";
import { txToChainTx } from "../chainTx.ts";
import type { EmbeddedChain } from "../embeddedChain.ts";
import type { ElectrumFaults } from "./electrumFaults.ts";
import { type MerkleProof, merkleProof } from "./merkleProof.ts";
import { scriptHashOf } from "./scriptHash.ts";
import { ScriptIndex } from "./scriptIndex.ts";

/** Where a header's Merkle root begins: after version and previous hash. */
const MERKLE_ROOT_AT = 4 + 32;

/** One line of a script's history. `height`: 0 in the mempool, -1 there with an input that is there too. `fee`: mempool only. */
export type HistoryLine = { readonly txid: string; readonly height: number; readonly fee: bigint | null };

/** An output of a script that nothing visible spends. `height` 0: in the mempool. `value` in base units. */
export type UnspentLine = { readonly txid: string; readonly vout: number; readonly value: bigint; readonly height: number };

/** A transaction and the block that holds it; null in the mempool. */
export type FoundTx = { readonly chainTx: ChainTx; readonly entry: BlockEntry | null };

const headerHexes = new WeakMap<BlockHeader, string>();

/** Each header is told to every client of every server. */
function trueHeaderHex(header: BlockHeader): string {
  const hex = headerHexes.get(header) ?? toHex(serializeHeader(header));
  headerHexes.set(header, hex);
  return hex;
}

/** What one server sees of the chain: the blocks up to some height and the mempool. Several servers of one chain may differ. */
export class ElectrumView {
  readonly #chain: EmbeddedChain;
  readonly #index: ScriptIndex;
  readonly #faults: ElectrumFaults;

  constructor(chain: EmbeddedChain, faults: ElectrumFaults) {
    this.#chain = chain;
    this.#index = ScriptIndex.of(chain);
    this.#faults = faults;
  }

  get tip(): BlockEntry {
    const { state } = this.#chain;
    const hidden = this.#faults.ofKind("lag").reduce((n, f) => Math.max(n, f.blocks), 0);
    return state.at(Math.max(0, state.tip.height - hidden)) ?? state.tip;
  }

  /** A block's header in hex. */
  headerHex({ block, height }: BlockEntry): string {
    if (!this.#faults.ofKind("false_header").some((f) => height >= f.fromHeight)) return trueHeaderHex(block.header);
    const bytes = serializeHeader(block.header);
    bytes[MERKLE_ROOT_AT] = (bytes[MERKLE_ROOT_AT] ?? 0) ^ 1;
    return toHex(bytes);
  }

  /** Proof for a leaf; see `merkleProof`. */
  proof(ids: readonly string[], position: number): MerkleProof {
    const { branch, root } = merkleProof(ids, position);
    if (!this.#faults.has("false_branch")) return { branch, root };
    return { branch: branch.length === 0 ? [root] : branch.with(0, root), root };
  }

  /** A block of the active chain up to the tip. */
  at(height: number): BlockEntry | undefined {
    return height <= this.tip.height ? this.#chain.state.at(height) : undefined;
  }

  find(txid: string): FoundTx | undefined {
    if (this.#isHidden(txid)) return undefined;
    const found = this.#find(txid);
    if (!found || !this.#faults.ofKind("false_tx").some((f) => f.txid === txid)) return found;
    const { tx } = found.chainTx;
    return { ...found, chainTx: txToChainTx({ ...tx, lockTime: tx.lockTime ^ 1 }) };
  }

  #isHidden(txid: string): boolean {
    return this.#faults.ofKind("hide").some((f) => f.txid === txid);
  }

  #find(txid: string): FoundTx | undefined {
    const waiting = this.#chain.mempool.graph.get(txid)?.chainTx;
    if (waiting) return { chainTx: waiting, entry: null };
    const entry = this.#chain.state.blockOfTx(txid);
    const chainTx = entry?.block.txs.find((t) => t.txid === txid);
    return entry && chainTx ? { chainTx, entry: entry.height <= this.tip.height ? entry : null } : undefined;
  }

  /** Confirmed in the order of the chain, then the mempool in the order of entry. */
  history(scriptHash: string): readonly HistoryLine[] {
    const top = this.tip.height;
    const lines = this.#index.confirmed(scriptHash).map(({ txid, height }) => ({ txid, height: height <= top ? height : 0, fee: null }));
    const waiting = this.#index.pending(scriptHash).map((p) => ({ txid: p.txid, height: p.hasPendingInputs ? -1 : 0, fee: p.fee }));
    return this.#told(scriptHash, [...lines, ...waiting]);
  }

  #told(scriptHash: string, lines: readonly HistoryLine[]): readonly HistoryLine[] {
    const claims = this.#faults.ofKind("claim").filter((f) => f.scriptHash === scriptHash);
    const delta = this.#faults.ofKind("false_height").reduce((n, f) => n + f.delta, 0);
    if (claims.length === 0 && delta === 0 && !this.#faults.has("hide")) return lines;
    return [
      ...lines
        .filter((l) => !this.#isHidden(l.txid) && !claims.some((f) => f.txid === l.txid))
        .map((l) => (l.height > 0 ? { ...l, height: Math.max(0, l.height + delta) } : l)),
      ...claims.map(({ txid, height }) => ({ txid, height, fee: null })),
    ];
  }

  unspent(scriptHash: string): readonly UnspentLine[] {
    const lines = this.history(scriptHash);
    const spent = this.#spentBy(lines);
    return this.#paidBy(scriptHash, lines).filter((c) => !spent.has(`${c.txid}:${c.vout}`));
  }

  /** Base units. `unconfirmed`: what the mempool adds, negative when it spends more. */
  balance(scriptHash: string): { readonly confirmed: bigint; readonly unconfirmed: bigint } {
    const blocks = this.history(scriptHash).filter((line) => line.height > 0);
    const spent = this.#spentBy(blocks);
    const sum = (coins: readonly UnspentLine[]): bigint => coins.reduce((n, c) => n + c.value, 0n);
    const confirmed = sum(this.#paidBy(scriptHash, blocks).filter((c) => !spent.has(`${c.txid}:${c.vout}`)));
    return { confirmed, unconfirmed: sum(this.unspent(scriptHash)) - confirmed };
  }

  #paidBy(scriptHash: string, lines: readonly HistoryLine[]): readonly UnspentLine[] {
    return lines.flatMap(({ txid, height }) =>
      [...(this.find(txid)?.chainTx.tx.outputs.entries() ?? [])]
        .filter(([, { script }]) => scriptHashOf(script) === scriptHash)
        .map(([vout, { value }]) => ({ txid, vout, value, height: Math.max(0, height) })),
    );
  }

  #spentBy(lines: readonly HistoryLine[]): ReadonlySet<string> {
    return new Set(lines.flatMap(({ txid }) => this.find(txid)?.chainTx.tx.inputs.map((i) => `${i.txid}:${i.vout}`) ?? []));
  }
}
