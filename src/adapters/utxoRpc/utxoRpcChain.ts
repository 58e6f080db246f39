import { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { rawTxid } from "../../chainIndex/rawTx.ts";
import { hexOf, toHex } from "../../core/util/bytes.ts";
import { parseTx, type TxFormat } from "../../core/utxo/txCodec.ts";
import type { BlockRef, BroadcastOutcome, ChainStatus, SeenOutput, SeenTx, UtxoChainWithHistory } from "../../ports/chain.ts";
import type { ChainStore, WatchKey } from "../../ports/chainStore.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { DaemonRpc } from "../../ports/daemonRpc.ts";
import type { Log } from "../../ports/log.ts";
import { broadcastTx } from "./broadcastTx.ts";
import { DaemonCalls } from "./daemonCalls.ts";
import { FeeRates } from "./feeRates.ts";
import { SyncLoop } from "./syncLoop.ts";
import type { UtxoRpcOptions } from "./utxoRpcOptions.ts";

export type UtxoRpcDeps = {
  readonly ticker: string;
  readonly format: TxFormat;
  readonly rpc: DaemonRpc;
  readonly store: ChainStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly options?: UtxoRpcOptions;
};

/** Greatest value of BIP-65's heights: a `fromHeight` is never above it. */
const MAX_HEIGHT = 499_999_999;

/**
 * Opens the index of one coin over its daemon and starts following. Resolves when the stored index is in memory;
 * the daemon may be down. `refresh`, `watchScript` and `watchTx` resolve after a whole, successful look at the
 * daemon that began after the call, however long the daemon is away; they reject with `Aborted` by their signal
 * or `close`. A watch rejects with `BlockGone` when a block it needs is pruned away.
 * A script watched from height 0 has no birthday: on a long chain only its present outputs are looked for.
 */
export async function openUtxoRpcChain(deps: UtxoRpcDeps): Promise<UtxoChainWithHistory> {
  const { ticker, format, store, clock, options = {} } = deps;
  const log = deps.log.child({ coin: ticker });
  const closing = new AbortController();
  const snapshot = await store.load();
  const index = new ChainIndex(snapshot);
  const calls = new DaemonCalls(deps.rpc, clock, options.timeoutMs ?? 15_000, closing.signal);
  const fees = new FeeRates(calls, options.decimals ?? 8);
  const loop = new SyncLoop({ ticker, format, calls, fees, index, store, clock, log, options, genesis: snapshot.genesis, closing });
  const done = loop.run();

  async function watch(key: WatchKey, fromHeight: number, signal?: AbortSignal): Promise<void> {
    if (!Number.isInteger(fromHeight) || fromHeight < 0 || fromHeight > MAX_HEIGHT)
      throw new Error(`fromHeight ${fromHeight} is not a height`);
    if (key.kind === "tx" && !/^[0-9a-f]{64}$/.test(key.key)) throw new Error("not a txid");
    await loop.watch(key, fromHeight, signal);
  }

  return {
    ticker,
    status: (): ChainStatus => loop.status(),
    onChange: (listener) => loop.onChange(listener),
    watchScript: (script, fromHeight, signal) => watch({ kind: "script", key: toHex(script) }, fromHeight, signal),
    watchTx: (txid, fromHeight, signal) => watch({ kind: "tx", key: txid }, fromHeight, signal),
    unwatch: ({ scripts = [], txids = [] }) =>
      loop.unwatch([
        ...scripts.map((s): WatchKey => ({ kind: "script", key: toHex(s) })),
        ...txids.map((key): WatchKey => ({ kind: "tx", key })),
      ]),
    outputs: (script): readonly SeenOutput[] => index.outputsOf(hexOf(script)),
    tx: (txid): SeenTx | undefined => index.tx(txid),
    async rawTx(txid, signal): Promise<Uint8Array | null> {
      const answer = await calls.rawTx(txid, signal);
      return answer.ok ? answer.value : null;
    },
    confirmations(block: BlockRef | null): number {
      const tip = index.tipHeader;
      return block === null || tip === undefined ? 0 : Math.max(0, tip.height - block.height + 1);
    },
    isNotarized: (height) => height <= fees.notarized,
    async broadcast(raw, signal): Promise<BroadcastOutcome> {
      const parsed = parseTx(raw, format);
      if (!parsed.ok) throw new Error(`broadcast of bytes that are no transaction: ${parsed.error.detail}`);
      const tx = { txid: rawTxid(parsed.value, raw), raw, outputs: parsed.value.outputs.length };
      const outcome = await broadcastTx(calls, ticker, tx, index.txEntry(tx.txid)?.block != null, signal);
      log.info("broadcast", { txid: tx.txid, outcome: outcome.kind });
      if (outcome.kind === "accepted") {
        // Known at once, not only at the next look; a look that finds it missing takes it back.
        const noted = loop.enqueue(async (ctx) => {
          const facts = new FactsBuilder(ctx.index, clock.nowMs());
          facts.add([{ txid: tx.txid, tx: parsed.value, raw }], null);
          if (facts.size > 0) await ctx.commit(facts.facts());
        });
        // It is out, whatever becomes of our note; the next look finds it again.
        await noted.catch((cause: unknown) => log.warn("broadcast_not_noted", { txid: tx.txid, cause: String(cause) }));
      }
      return outcome;
    },
    estimateFeePerKb: (targetBlocks, signal) => fees.estimate(targetBlocks, options.estimateFeeMode ?? null, signal),
    relayFeePerKb: () => fees.relayFee,
    blockRewardUnits: () => loop.blockReward,
    refresh: (signal) => loop.refresh(signal),
    history: (scripts, limit) => store.history(scripts.map(toHex), limit),
    storedTxs: (txids) => store.storedTxs(txids),
    spentOutputs: (scripts, spenders) => store.spentOutputs(scripts.map(toHex), spenders),
    servers: () => [],
    serverNeeds: () => null,
    async blockTimeSec(block): Promise<number | null> {
      const known = index.headerAt(block.height);
      if (known?.hash === block.hash) return known.timeSec;
      const header = await calls.header(block.hash);
      return header.ok ? header.value.timeSec : null;
    },
    async close(): Promise<void> {
      closing.abort(new Aborted("closed"));
      loop.wake();
      await done;
    },
  };
}
