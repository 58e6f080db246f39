import { rawTxid } from "../../chainIndex/rawTx.ts";
import { hexOf, toHex } from "../../core/util/bytes.ts";
import { parseTx } from "../../core/utxo/txCodec.ts";
import type { BlockRef, BroadcastOutcome, Watched } from "../../ports/chain.ts";
import type { WatchKey } from "../../ports/chainStore.ts";
import { Aborted } from "../../ports/clock.ts";
import { Broadcasts } from "./broadcasts.ts";
import { callBound } from "./callBound.ts";
import type { ElectrumChain, ElectrumDeps } from "./electrumDeps.ts";
import { electrumParts } from "./electrumParts.ts";
import { fetchTx } from "./fetchTx.ts";
import { HistoryPace } from "./historyPace.ts";
import { isWaiting } from "./waitingTx.ts";

/** Greatest value of BIP-65's heights: a `fromHeight` is never above it. */
const MAX_HEIGHT = 499_999_999;
const USUAL_TIMEOUT_MS = 10_000;

const keyOf = (script: Uint8Array): WatchKey => ({ kind: "script", key: toHex(script) });
const keysOf = ({ scripts = [], txids = [] }: Watched): readonly WatchKey[] => [
  ...scripts.map(keyOf),
  ...txids.map((key): WatchKey => ({ kind: "tx", key })),
];

/**
 * Opens the index of one coin over Electrum servers and starts following. Resolves when the stored index is in memory; all servers
 * may be down. `refresh`, `watchScript` and `watchTx` resolve after a whole, successful look at the servers that began after the
 * call, however long they are away; they reject with `Aborted` by their signal or `close`.
 *
 * What is believed (docs/adr): a transaction is in a block when a branch proves it against a checked header, and in the mempool when
 * two servers say so (or the only one). That something is not there is what more than half of the connected servers say. A server
 * whose word is disproven is left alone for an hour and named in the log and in `servers()`.
 */
export async function openElectrumChain(deps: ElectrumDeps): Promise<ElectrumChain> {
  const { ticker, format, store, clock, options = {} } = deps;
  if (deps.servers.length === 0) throw new Error("an Electrum chain needs a server");
  const log = deps.log.child({ coin: ticker });
  const closing = new AbortController();
  const timeoutMs = options.timeoutMs ?? USUAL_TIMEOUT_MS;
  const parts = electrumParts({ ...deps, log }, await store.load(), timeoutMs, closing);
  const { index, chosen, pool, reader, views, search, guards, fees, rewards, notarizations, visits, witnesses, loop } = parts;
  const bounded = callBound(clock, timeoutMs, closing.signal);
  const broadcasts = new Broadcasts({ ...parts, ticker, clock, log, bounded });
  /** Of scripts that fees of swaps pay or are paid by: whoever begins swaps may choose them, and what is asked about them takes nothing from what is followed. */
  const feePace = new HistoryPace();
  const done = loop.run();

  async function watch(key: WatchKey, fromHeight: number, signal?: AbortSignal): Promise<void> {
    if (!Number.isInteger(fromHeight) || fromHeight < 0 || fromHeight > MAX_HEIGHT)
      throw new Error(`fromHeight ${fromHeight} is not a height`);
    if (key.kind === "tx" && !/^[0-9a-f]{64}$/.test(key.key)) throw new Error("not a txid");
    await loop.watch(key, fromHeight, signal);
  }

  /** The block that makes so many confirmations of one, or the last. */
  function deepBlock(block: BlockRef, confs: number): BlockRef {
    const deep = index.headerAt(Math.min(block.height + Math.max(1, confs) - 1, index.tipHeader?.height ?? 0));
    return deep !== undefined && deep.height > block.height ? deep : block;
  }

  return {
    ticker,
    status: () => loop.status(),
    servers: () => pool.health(),
    serverNeeds: () => chosen.needs,
    exchangeServers(choice) {
      if (closing.signal.aborted) return;
      pool.letGo(chosen.exchange(choice));
      pool.tend();
    },
    onChange: (listener) => loop.onChange(listener),
    watchScript: (script, fromHeight, signal) => watch(keyOf(script), fromHeight, signal),
    watchTx: (txid, fromHeight, signal) => watch({ kind: "tx", key: txid }, fromHeight, signal),
    unwatch: (what) => loop.unwatch(keysOf(what)),
    guard(script, guard) {
      const release = guards.add(hexOf(script), guard);
      visits.plan();
      return () => {
        release();
        visits.plan();
      };
    },
    calm: (script) => views.calm(hexOf(script)),
    doubt: (block, confs, signal, isOneEnough) => witnesses.doubt(deepBlock(block, confs), signal, isOneEnough),
    mayBeDenied: (block, confs) => witnesses.mayBeDenied(deepBlock(block, confs)),
    crowded(script) {
      const tracked = views.get(hexOf(script));
      if (tracked === undefined || views.telling(tracked, pool.present()) !== "crowded") return null;
      return search.crowded(tracked.scriptHex);
    },
    async isWaiting(raw, payer, signal) {
      const parsed = parseTx(raw, format);
      if (!parsed.ok) return false;
      const txid = rawTxid(parsed.value, raw);
      const asked = { payer: payer && hexOf(payer), pace: feePace, nowMs: clock.nowMs() };
      return index.tx(txid) !== undefined || bounded(signal, false, () => isWaiting(pool.present(), txid, parsed.value, asked));
    },
    outputs: (script) => index.outputsOf(hexOf(script)),
    tx: (txid) => index.tx(txid),
    rawTx: (txid, signal) => bounded(signal, null, () => fetchTx(clock, pool.connected(), txid, format)),
    confirmations(block: BlockRef | null): number {
      const tip = index.tipHeader;
      return block === null || tip === undefined ? 0 : Math.max(0, tip.height - block.height + 1);
    },
    isNotarized: (height) => height <= notarizations.height,
    async broadcast(raw, signal): Promise<BroadcastOutcome> {
      const parsed = parseTx(raw, format);
      if (!parsed.ok) throw new Error(`broadcast of bytes that are no transaction: ${parsed.error.detail}`);
      return broadcasts.send({ txid: rawTxid(parsed.value, raw), tx: parsed.value, raw }, signal);
    },
    estimateFeePerKb: (targetBlocks, signal) => bounded(signal, null, () => fees.estimate(pool.present(), targetBlocks)),
    relayFeePerKb: () => fees.relayFee,
    blockRewardUnits: () => rewards.median,
    refresh: (signal, of) => loop.refresh(signal, of && keysOf(of)),
    history: (scripts, limit) => store.history(scripts.map(toHex), limit),
    storedTxs: (txids) => store.storedTxs(txids),
    spentOutputs: (scripts, spenders) => store.spentOutputs(scripts.map(toHex), spenders),
    async blockTimeSec(block, signal): Promise<number | null> {
      const known = index.headerAt(block.height);
      if (known?.hash === block.hash) return known.timeSec;
      return bounded(signal, null, () => reader.timeOf(pool.connected(), block.height, block.hash));
    },
    async close(): Promise<void> {
      closing.abort(new Aborted("closed"));
      visits.stop();
      pool.close();
      loop.wake();
      await done;
    },
  };
}
