import { BlockRewards } from "../../chainIndex/blockRewards.ts";
import { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { rawTxid } from "../../chainIndex/rawTx.ts";
import { hexOf, toHex } from "../../core/util/bytes.ts";
import { parseTx } from "../../core/utxo/txCodec.ts";
import type { BlockRef, BroadcastOutcome, Watched } from "../../ports/chain.ts";
import type { WatchKey } from "../../ports/chainStore.ts";
import { Aborted, withDeadline } from "../../ports/clock.ts";
import type { ElectrumEndpoint } from "../../ports/electrum.ts";
import type { Log } from "../../ports/log.ts";
import { broadcastTx } from "./broadcastTx.ts";
import type { ElectrumChain, ElectrumDeps, ServerChoice } from "./electrumDeps.ts";
import { ElectrumLoop } from "./electrumLoop.ts";
import { FeeRates } from "./feeRates.ts";
import { fetchTx } from "./fetchTx.ts";
import { Guards } from "./guards.ts";
import { HeaderFollower } from "./headerFollower.ts";
import { HeaderReader } from "./headerReader.ts";
import { HistoryPace } from "./historyPace.ts";
import { HistoryWork } from "./historyWork.ts";
import { LoneWord } from "./loneWord.ts";
import { MissingTxs } from "./missingTxs.ts";
import { Notarizations } from "./notarizations.ts";
import { Omissions } from "./omissions.ts";
import { RefusedBroadcasts } from "./refusedBroadcasts.ts";
import { RefusedHistories } from "./refusedHistories.ts";
import { RemoteServer } from "./remoteServer.ts";
import { RewardReader } from "./rewardReader.ts";
import { ScriptViews } from "./scriptViews.ts";
import { ServerCredit } from "./serverCredit.ts";
import { serverNeeds } from "./serverNeeds.ts";
import { ServerPool } from "./serverPool.ts";
import { ServerVisits } from "./serverVisits.ts";
import { SpendSearch } from "./spendSearch.ts";
import { TxProver } from "./txProver.ts";
import { visitLog } from "./visitLog.ts";
import { isWaiting } from "./waitingTx.ts";
import { WatchedTxs } from "./watchedTxs.ts";
import { Witnesses } from "./witnesses.ts";

/** Greatest value of BIP-65's heights: a `fromHeight` is never above it. */
const MAX_HEIGHT = 499_999_999;
const USUAL_POLL_MS = 15_000;
const USUAL_TIMEOUT_MS = 10_000;
const USUAL_MAX_CONNECTED = 5;
/** About Bitcoin's difficulty 1. */
const USUAL_COSTLY_WORK = 2n ** 32n;
/** A piece of history and what is on its way beside it take four times its bytes; what else comes meanwhile has room, too. */
const PIECES_HELD = 6;
/** A broadcast and a fee estimate end in so many of a call's deadlines. */
const CALLS_PER_REQUEST = 3;

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
  const { ticker, format, headerRules, store, clock, credit = new ServerCredit(), options = {} } = deps;
  if (deps.servers.length === 0) throw new Error("an Electrum chain needs a server");
  const log = deps.log.child({ coin: ticker });
  const closing = new AbortController();
  const snapshot = await store.load();
  const index = new ChainIndex(snapshot);
  const timeoutMs = options.timeoutMs ?? USUAL_TIMEOUT_MS;
  const remote = (endpoint: ElectrumEndpoint, serverLog: Log, onNews: () => void, wasConnectedMs: number): RemoteServer =>
    new RemoteServer({
      endpoint,
      wasConnectedMs,
      rules: headerRules,
      clock,
      log: serverLog,
      timeoutMs: endpoint.timeoutMs ?? timeoutMs,
      closed: closing.signal,
      credit,
      genesis: () => follower.genesis,
      onNews,
    });
  const onNews = (): void => {
    loop.hear();
    pool.tend();
  };
  /** @param before those in whose place they come: a voice that was connected has been heard under its new name, too */
  function chosen(choice: ServerChoice, before: readonly RemoteServer[]) {
    const visitable = choice.servers.map((endpoint) => {
      const voter = endpoint.voter ?? endpoint.name;
      const wasConnectedMs = Math.max(...before.flatMap((s) => (s.voter === voter ? s.connectedMs : [])));
      return {
        pooled: remote(endpoint, log, onNews, wasConnectedMs),
        visitor: () => remote(endpoint, visitLog(log.child({ visit: true })), () => undefined, Number.NEGATIVE_INFINITY),
      };
    });
    const servers = visitable.map(({ pooled }) => pooled);
    const voters = new Set(servers.map(({ voter }) => voter)).size;
    const maxConnected = Math.min(voters, choice.maxConnected ?? Math.max(USUAL_MAX_CONNECTED, choice.minConnected ?? 1));
    const needs = serverNeeds(ticker, voters, maxConnected, choice.minConnected);
    if (needs.warning !== null) log.warn("few_servers", { servers: voters, minConnected: needs.minConnected, warning: needs.warning });
    return { visitable, servers, voters, maxConnected, needs };
  }
  let used = chosen({ ...options, servers: deps.servers }, []);
  const pool = new ServerPool({
    get servers() {
      return used.servers;
    },
    clock,
    get minConnected() {
      return used.needs.minConnected;
    },
    get maxConnected() {
      return used.maxConnected;
    },
    closed: closing.signal,
    onGathered: () => loop.wake(),
  });
  const reader = new HeaderReader(headerRules);
  const follower = new HeaderFollower({
    rules: headerRules,
    index,
    store,
    reader,
    clock,
    log,
    genesis: snapshot.genesis,
    get servers() {
      return used.voters;
    },
    costlyWork: options.costlyWork ?? USUAL_COSTLY_WORK,
    headersPerLook: options.headersPerLook ?? null,
  });
  const prover = new TxProver(format, reader, () => clock.nowMs());
  const historyPace = new HistoryPace();
  const refusedHistories = new RefusedHistories(index, historyPace);
  const views = new ScriptViews(refusedHistories, historyPace);
  const watchedTxs = new WatchedTxs(index, views, prover);
  const missing = new MissingTxs(index, views);
  const rewards = new BlockRewards();
  const fees = new FeeRates(options.decimals ?? 8);
  const notarizations = new Notarizations(index);
  const omissions = new Omissions(index, reader, clock);
  const refused = new RefusedBroadcasts(index, clock);
  const guards = new Guards();
  const word = new LoneWord({
    index,
    reader,
    prover,
    guards,
    omissions,
    clock,
    log,
    enqueue: (work) => loop.enqueue(work),
    commit: (delta) => loop.commit(delta),
  });
  const search = new SpendSearch({
    index,
    reader,
    prover,
    guards,
    omissions,
    clock,
    log,
    closed: closing.signal,
    enqueue: (work) => loop.enqueue(work),
    commit: (delta) => loop.commit(delta),
    onRead: () => loop.hear(),
  });
  const visits = new ServerVisits({
    get servers() {
      return used.visitable;
    },
    pool,
    isReady: () => loop.status().state === "ready",
    guards,
    word,
    refused: refusedHistories,
    pace: historyPace,
    search,
    heightOf: (hash) => index.heightOf(hash),
    clock,
    log,
    closed: closing.signal,
  });
  const witnesses = new Witnesses({
    ticker,
    get servers() {
      return used.visitable;
    },
    pool,
    reader,
    isProof: () => follower.isProof,
    clock,
    log,
    closed: closing.signal,
  });
  const loop: ElectrumLoop = new ElectrumLoop({
    ticker,
    pool,
    follower,
    views,
    work: new HistoryWork({
      index,
      follower,
      reader,
      prover,
      bytesPerWrite: credit.ownBytes / PIECES_HELD,
      mayTake: (txid) => missing.mayTake(txid, clock.nowMs()),
      minConnected: () => pool.minConnected,
      nowMs: () => clock.nowMs(),
      commit: (delta) => loop.commit(delta),
    }),
    watchedTxs,
    missing,
    search,
    omissions,
    guards,
    word,
    notarizations,
    fees,
    rewards: options.readsReward ? new RewardReader(rewards, prover) : null,
    index,
    store,
    clock,
    log,
    pollMs: options.pollMs ?? USUAL_POLL_MS,
    onRollback(height) {
      witnesses.forgetAbove(height);
      search.forgetAbove(height);
    },
    closing,
  });
  const done = loop.run();

  /** Of scripts that fees of swaps pay or are paid by: whoever begins swaps may choose them, and what is asked about them takes nothing from what is followed. */
  const feePace = new HistoryPace();
  const keyOf = (script: Uint8Array): WatchKey => ({ kind: "script", key: toHex(script) });

  const keysOf = ({ scripts = [], txids = [] }: Watched): readonly WatchKey[] => [
    ...scripts.map(keyOf),
    ...txids.map((key): WatchKey => ({ kind: "tx", key })),
  ];

  async function watch(key: WatchKey, fromHeight: number, signal?: AbortSignal): Promise<void> {
    if (!Number.isInteger(fromHeight) || fromHeight < 0 || fromHeight > MAX_HEIGHT)
      throw new Error(`fromHeight ${fromHeight} is not a height`);
    if (key.kind === "tx" && !/^[0-9a-f]{64}$/.test(key.key)) throw new Error("not a txid");
    await loop.watch(key, fromHeight, signal);
  }

  /** Ends with the caller's signal, at the latest after some deadlines with `late`; the servers' calls end by themselves. */
  async function bounded<T>(signal: AbortSignal | undefined, late: T, work: () => Promise<T>): Promise<T> {
    try {
      return await withDeadline(clock, CALLS_PER_REQUEST * timeoutMs, signal ? [signal, closing.signal] : closing.signal, work);
    } catch (cause) {
      if (!(cause instanceof Aborted) || signal?.aborted || closing.signal.aborted) throw cause;
      return late;
    }
  }
  /** Without an answer in time nothing is known of a broadcast. */
  const unanswered: BroadcastOutcome = { kind: "unknown", message: `The ${ticker} servers did not answer in time.` };

  return {
    ticker,
    status: () => loop.status(),
    servers: () => pool.health(),
    serverNeeds: () => used.needs,
    exchangeServers(choice) {
      if (closing.signal.aborted) return;
      const before = used.servers;
      used = chosen(choice, before);
      pool.letGo(before);
      pool.tend();
      log.info("servers_exchanged", { servers: used.voters });
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
    doubt(block, confs, signal) {
      const deep = index.headerAt(Math.min(block.height + Math.max(1, confs) - 1, index.tipHeader?.height ?? 0));
      return witnesses.doubt(deep !== undefined && deep.height > block.height ? deep : block, signal);
    },
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
    rawTx: (txid, signal) => bounded(signal, null, () => fetchTx(pool.connected(), txid, format)),
    confirmations(block: BlockRef | null): number {
      const tip = index.tipHeader;
      return block === null || tip === undefined ? 0 : Math.max(0, tip.height - block.height + 1);
    },
    isNotarized: (height) => height <= notarizations.height,
    async broadcast(raw, signal): Promise<BroadcastOutcome> {
      const parsed = parseTx(raw, format);
      if (!parsed.ok) throw new Error(`broadcast of bytes that are no transaction: ${parsed.error.detail}`);
      const txid = rawTxid(parsed.value, raw);
      const mined = index.txEntry(txid)?.block != null;
      watchedTxs.sent(txid, parsed.value);
      refusedHistories.offered(txid, parsed.value);
      const receivers = pool.connected();
      // Of what has been seen since, no refusal counts.
      if (index.txEntry(txid) !== undefined) refused.forget(txid);
      const lately = refused.lately(txid, parsed.value, receivers);
      if (lately !== null) return lately;
      const { minConnected } = used.needs;
      const lacking = refused.lacking(txid);
      const outcome = await bounded(signal, unanswered, () =>
        broadcastTx({ servers: receivers, minConnected, lacking }, ticker, { txid, raw }, mined),
      );
      refused.heard(txid, parsed.value, receivers, outcome);
      log.info("broadcast", { txid, outcome: outcome.kind });
      if (outcome.kind === "accepted") {
        // Known at once, not only at the next look; a look that finds it missing takes it back.
        const noted = loop.enqueue(async () => {
          const facts = new FactsBuilder(index, clock.nowMs());
          facts.add([{ txid, tx: parsed.value, raw }], null);
          if (facts.size > 0) await loop.commit(facts.facts());
        });
        // It is out, whatever becomes of our note; the next look finds it again. A look that a slow server holds up is not waited for.
        await bounded(signal, undefined, () => noted).catch((cause: unknown) =>
          log.warn("broadcast_not_noted", { txid, cause: String(cause) }),
        );
      }
      return outcome;
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
      const header = await bounded(signal, null, () => reader.withHash(pool.connected(), block.height, block.hash));
      return header?.ok ? header.value.timeSec : null;
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
