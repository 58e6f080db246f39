import { BlockRewards } from "../../chainIndex/blockRewards.ts";
import { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { servedFees } from "../../core/coin/servedFees.ts";
import type { ChainDelta, ChainSnapshot } from "../../ports/chainStore.ts";
import { AskedBeside } from "./askedBeside.ts";
import { BlockHeights } from "./blockHeights.ts";
import { ChosenServers } from "./chosenServers.ts";
import type { ElectrumDeps } from "./electrumDeps.ts";
import { ElectrumLoop } from "./electrumLoop.ts";
import { FeeRates } from "./feeRates.ts";
import { Guards } from "./guards.ts";
import { HeaderFollower } from "./headerFollower.ts";
import { HeaderReader } from "./headerReader.ts";
import { HistoryPace } from "./historyPace.ts";
import { HistoryWork } from "./historyWork.ts";
import { LoneWord } from "./loneWord.ts";
import { MissingTxs } from "./missingTxs.ts";
import { Notarizations } from "./notarizations.ts";
import { Omissions } from "./omissions.ts";
import { RefusedHistories } from "./refusedHistories.ts";
import { RewardReader } from "./rewardReader.ts";
import { ScriptViews } from "./scriptViews.ts";
import { ServerCredit } from "./serverCredit.ts";
import { ServerPool } from "./serverPool.ts";
import { ServerVisits } from "./serverVisits.ts";
import { SpendSearch } from "./spendSearch.ts";
import { TxProver } from "./txProver.ts";
import { WatchedTxs } from "./watchedTxs.ts";
import { Witnesses } from "./witnesses.ts";

const USUAL_POLL_MS = 15_000;
/** About Bitcoin's difficulty 1. */
const USUAL_COSTLY_WORK = 2n ** 32n;
/** A piece of history and what is on its way beside it take four times its bytes; what else comes meanwhile has room, too. */
const PIECES_HELD = 6;

/**
 * Makes the parts of one chain and ties them together; nothing runs yet. Given back are those that the chain's port speaks to.
 *
 * @param deps      as of `openElectrumChain`; `log` already names the coin
 * @param snapshot  what the coin's store holds
 * @param timeoutMs deadline of a call at servers that name none
 * @param closing   ends all of them
 */
export function electrumParts(deps: ElectrumDeps, snapshot: ChainSnapshot, timeoutMs: number, closing: AbortController) {
  const { ticker, format, headerRules: rules, store, clock, log, credit = new ServerCredit(), options = {} } = deps;
  const closed = closing.signal;
  const index = new ChainIndex(snapshot);
  const chosen = new ChosenServers(
    {
      ticker,
      rules,
      clock,
      log,
      timeoutMs,
      credit,
      closed,
      genesis: () => follower.genesis,
      onNews() {
        loop.hear();
        pool.tend();
      },
    },
    { ...options, servers: deps.servers },
  );
  const pool = new ServerPool({
    get servers() {
      return chosen.servers;
    },
    clock,
    get minConnected() {
      return chosen.needs.minConnected;
    },
    get maxConnected() {
      return chosen.maxConnected;
    },
    closed,
    onGathered: () => loop.wake(),
  });
  const reader = new HeaderReader(rules, clock);
  const prover = new TxProver(format, reader, clock);
  const follower = new HeaderFollower({
    rules,
    heights: new BlockHeights(prover, clock),
    index,
    store,
    reader,
    clock,
    log,
    genesis: snapshot.genesis,
    get servers() {
      return chosen.voters;
    },
    get maxConnected() {
      return chosen.maxConnected;
    },
    costlyWork: options.costlyWork ?? USUAL_COSTLY_WORK,
    headersPerLook: options.headersPerLook ?? null,
  });
  const historyPace = new HistoryPace();
  const refusedHistories = new RefusedHistories(index, historyPace);
  const views = new ScriptViews(refusedHistories, historyPace, clock);
  const watchedTxs = new WatchedTxs(index, store, views, prover, clock);
  const missing = new MissingTxs(index, views, clock);
  const rewards = new BlockRewards();
  const fees = new FeeRates(options.decimals ?? 8, options.fees ?? servedFees({ kind: "dynamic" }));
  const notarizations = new Notarizations(index);
  const omissions = new Omissions(index, reader, clock);
  const guards = new Guards();
  const finding = {
    index,
    store,
    reader,
    prover,
    guards,
    omissions,
    clock,
    log,
    enqueue: (work: () => Promise<void>) => loop.enqueue(work),
    commit: (delta: ChainDelta) => loop.commit(delta),
  };
  const word = new LoneWord(finding);
  const search = new SpendSearch({ ...finding, closed, onRead: () => loop.hear() });
  const visits = new ServerVisits({
    get servers() {
      return chosen.visitable;
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
    closed,
  });
  const witnesses = new Witnesses({
    ticker,
    get servers() {
      return chosen.visitable;
    },
    pool,
    reader,
    isProof: () => follower.isProof,
    clock,
    log,
    closed,
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
      beside: new AskedBeside(clock),
      bytesPerWrite: credit.ownBytes / PIECES_HELD,
      mayTake: (txid) => missing.mayTake(txid, clock.nowMs()),
      minConnected: () => pool.minConnected,
      nowMs: () => clock.nowMs(),
      store,
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
    rewards: options.readsReward ? new RewardReader(rewards, prover, clock) : null,
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
  return {
    index,
    chosen,
    pool,
    reader,
    views,
    refusedHistories,
    watchedTxs,
    search,
    guards,
    fees,
    rewards,
    notarizations,
    visits,
    witnesses,
    loop,
  };
}
