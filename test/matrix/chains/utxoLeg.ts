import type { SimChain } from "../../../sim/world/simChain.ts";
import { isCoinbase, txToChainTx } from "../../../src/chain/chainTx.ts";
import { fromHex, toHex } from "../../../src/core/util/bytes.ts";
import { parseTx } from "../../../src/core/utxo/txCodec.ts";
import { CONGESTED_FACTOR, type Leg, type MatrixChain, type Purse } from "./matrixChain.ts";

/** What others pay usually, per 1000 bytes: the relay minimum. */
const USUAL_FEE_PER_KB = 1_000n;
/** Height of the first block with coins of the nodes. */
const FIRST_HEIGHT = 102;

/** A coin of scripts and its chain. */
export class UtxoLeg implements Leg, MatrixChain {
  readonly decimals = 8;
  readonly sim: SimChain;

  constructor(sim: SimChain) {
    this.sim = sim;
  }

  get chain(): MatrixChain {
    return this;
  }
  get #embedded() {
    return this.sim.chain;
  }

  mine(blocks: number): void {
    const mined = this.#embedded.mine(blocks);
    if (!mined.ok) throw new Error(`${this.sim.ticker}: ${mined.error.reason}`);
  }
  lockTimeSec(): number {
    return this.#embedded.state.tip.medianTime;
  }
  depth(txid: string): number {
    const { state } = this.#embedded;
    const at = state.blockOfTx(txid);
    return at ? state.tip.height - at.height + 1 : 0;
  }
  isWaiting(txid: string): boolean {
    return this.#embedded.mempool.graph.get(txid) !== undefined;
  }
  hold(txid: string): void {
    this.#embedded.held.add(txid);
  }
  forget(txid: string): void {
    this.#embedded.mempool.graph.removeWithDescendants(txid);
  }
  force(raw: Uint8Array): void {
    const tx = parseTx(raw, this.#embedded.params.template.format);
    if (!tx.ok) throw new Error(tx.error.detail);
    for (const { txid, vout } of tx.value.inputs) {
      const other = this.#embedded.mempool.graph.spender(`${txid}:${vout}`);
      if (other !== undefined) this.forget(other);
    }
    this.#embedded.send(txToChainTx(tx.value));
  }
  congest(isFull: boolean): void {
    this.#embedded.policy.blockFeePerKb = isFull ? CONGESTED_FACTOR * USUAL_FEE_PER_KB : 0n;
  }
  reorg(depth: number, forget: readonly string[]): void {
    this.sim.reorg(depth, forget);
  }
  strange(): Uint8Array {
    return this.#embedded.state.at(FIRST_HEIGHT - 1)?.block.txs[0]?.raw ?? new Uint8Array(10);
  }
  isOf(raw: string, { script }: Purse): boolean {
    const tx = parseTx(fromHex(raw), this.#embedded.params.template.format);
    if (!tx.ok) return true;
    const own = toHex(script);
    const spends = tx.value.inputs.some((i) => this.#embedded.mempool.coin(i.txid, i.vout)?.scriptHex === own);
    return spends || tx.value.outputs.some((o) => toHex(o.script) === own);
  }
  stop(): void {
    this.#embedded.stop();
  }

  balance({ script }: Purse): bigint {
    return this.sim.balance(script);
  }
  endOf(payment: string): string | null {
    const { state } = this.#embedded;
    if (this.isOpen(payment)) return null;
    const made = state.blockOfTx(payment);
    for (let height = made?.height ?? state.tip.height + 1; height <= state.tip.height; height++) {
      const found = state
        .at(height)
        ?.block.txs.find(({ tx }) => !isCoinbase(tx) && tx.inputs.some((i) => i.txid === payment && i.vout === 0));
      if (found) return found.txid;
    }
    return null;
  }
  isOpen(payment: string): boolean {
    return this.#embedded.state.coins.get(`${payment}:0`) !== undefined;
  }
  endWaiting(payment: string): boolean {
    return this.#embedded.mempool.graph.spender(`${payment}:0`) !== undefined;
  }
  endBytes(payment: string): Uint8Array | null {
    const { graph } = this.#embedded.mempool;
    const waiting = graph.get(graph.spender(`${payment}:0`) ?? "")?.chainTx.raw;
    const end = waiting ? null : this.endOf(payment);
    const { state } = this.#embedded;
    return waiting ?? state.blockOfTx(end ?? "")?.block.txs.find(({ txid }) => txid === end)?.raw ?? null;
  }
}
