import type { SwapMessage } from "../../core/message/types.ts";
import { ownPayment, type StoredEvent, type SwapTerms } from "../../core/swap/events.ts";
import { fold, isTakenUp } from "../../core/swap/swapState.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { reasonOf } from "../../core/util/reasonOf.ts";
import type { Secret } from "../../core/util/secret.ts";
import { Aborted, type Clock, sleep } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { GossipMessage, GossipVerdict, P2p } from "../../ports/network.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import type { SwapMatch, SwapStarter } from "../tradingCoin.ts";
import { ChainNews } from "./chainNews.ts";
import { observeFirst } from "./duties/observe.ts";
import { runDuty } from "./duties/runDuty.ts";
import { ExpectedTopics } from "./expectedTopics.ts";
import { forgetSwap } from "./forgetSwap.ts";
import { isSettled } from "./isSettled.ts";
import { type OwnTxOfSwap, ownTxIn } from "./lostTo.ts";
import { OwnTxs } from "./ownTxs.ts";
import { type StartDeps, startTerms, summaryOf } from "./startTerms.ts";
import type { Reserved } from "./storedFunds.ts";
import type { SwapCoin } from "./swapCoin.ts";
import { IncomingMail, OutgoingMail, type ReadMail } from "./swapMail.ts";
import { SwapTask, type SwapTiming } from "./swapTask.ts";
import { mayHavePaid, takeUpPayment } from "./takeUpPayment.ts";
import { FeeAllowances } from "./unknownFees.ts";
import { UnreadRecords } from "./unreadRecords.ts";
import { WaitingSwaps } from "./waitingSwaps.ts";

export type SwapRunnerDeps = StartDeps & {
  readonly clock: Clock;
  readonly log: Log;
  readonly p2p: P2p;
  readonly verifier: SignatureVerifier;
  readonly coin: (ticker: string) => SwapCoin | undefined;
  /** Fires when a coin became active: swaps waiting for it are taken up. */
  readonly onCoinActivated: (listener: () => void) => () => void;
  readonly keys: StartDeps["keys"] & { readonly secretKey: Secret<Uint8Array> };
  readonly timing: SwapTiming;
  readonly profileOfFee: (terms: SwapTerms, raw: Uint8Array, takerCoin: SwapCoin) => string | null;
  /** Export and stream hook; must not throw. */
  readonly onEvent: (uuid: string, log: readonly StoredEvent[]) => void;
  /** Nothing about the swap changes any more; must not throw. */
  readonly onSettled?: (uuid: string, log: readonly StoredEvent[]) => void;
};

const TOPIC_PREFIX = "swap/";
/** Logs of ended swaps kept in memory for status calls. */
const RECENT_LOGS = 200;
/** Pause before the chain is asked again for an own payment that the log may lack. */
const LOOK_AGAIN_MS = 5_000;

/** Starts, resumes and supervises all swaps of this node. */
export class SwapRunner implements SwapStarter {
  readonly #deps: SwapRunnerDeps;
  readonly #tasks = new Map<string, SwapTask>();
  /** What is to be let go of with a task. */
  readonly #cleanups = new Map<string, () => void>();
  readonly #news = new ChainNews<SwapTask>((task) => {
    task.wake("chain");
    this.#settleIfDeep(task);
  });
  readonly #waiting: WaitingSwaps;
  readonly #unread: UnreadRecords;
  readonly #recent = new Map<string, readonly StoredEvent[]>();
  /** What the swaps of `#tasks` and `#recent` signed. */
  readonly #ownTxs = new OwnTxs();
  readonly #expected: ExpectedTopics;
  readonly #mail: IncomingMail;
  readonly #feeAllowances: FeeAllowances;
  #offCoins: () => void = () => undefined;
  /** Every uuid this node ever swapped under. */
  readonly #known = new Set<string>();
  /** Of those, the ones about which something may change yet. */
  readonly #unsettled = new Set<string>();

  constructor(deps: SwapRunnerDeps) {
    this.#deps = deps;
    const { clock, log, p2p } = deps;
    this.#unread = new UnreadRecords(log);
    const { store, coin, verifier } = deps;
    this.#mail = new IncomingMail(clock, verifier);
    this.#feeAllowances = new FeeAllowances();
    this.#waiting = new WaitingSwaps(
      { clock, log, store, coin, takeUp: (...args) => this.#resume(...args), onEvent: deps.onEvent },
      this.#unread,
    );
    this.#expected = new ExpectedTopics(
      clock,
      (uuid) => p2p.subscribe(TOPIC_PREFIX + uuid),
      (uuid) => this.#tasks.has(uuid) || p2p.unsubscribe(TOPIC_PREFIX + uuid),
    );
  }

  /** Loads what a former run left open. Swaps whose coins are active go on at once, the others when they are. */
  async open(): Promise<void> {
    const open = await this.#deps.store.unsettled();
    for (const uuid of await this.#deps.store.allUuids()) this.#known.add(uuid);
    for (const s of open) this.#unsettled.add(s.uuid);
    await this.#waiting.read(open);
    this.#offCoins = this.#deps.onCoinActivated(() => void this.#waiting.takeUpReady());
    await this.#waiting.takeUpReady();
  }

  /** To be called before a coin can be used by anybody: what stored swaps have of it is taken out of circulation. */
  prepare(coin: SwapCoin): void {
    this.#waiting.prepare(coin);
  }

  /** To be called before a coin closes, or another takes its place: its swaps wait until it is enabled again. */
  async park(ticker: string): Promise<void> {
    for (const task of this.#tasksWith(ticker)) {
      await task.stop();
      // Until here it counts as one that needs its other coin. It may have settled by what it stored last.
      if (this.#tasks.get(task.uuid) !== task) continue;
      this.#drop(task);
      const { finished, own, terms } = task.state;
      const coin = task.coin(terms.role);
      const reserved = { own: task.reservation, claim: task.claimReservation };
      this.#waiting.addStopped(task.state, reserved, coin, task.coin(terms.role === "maker" ? "taker" : "maker"));
      // Nobody sends it now, so nothing counts on its change until the chain lists it.
      if (finished && own.fee) coin.dropChange(fromHex(own.fee.raw));
    }
  }

  async close(): Promise<void> {
    this.#offCoins();
    this.#waiting.close();
    this.#expected.close();
    await Promise.all([...this.#tasks.values()].map((t) => t.stop()));
    this.#tasks.clear();
  }

  /** Tickers a client must enable for stored swaps to go on; fixed at start-up, as in KDF (reference rpc.md 6.9). */
  kickStartCoins(): readonly string[] {
    return this.#waiting.kickStartCoins;
  }

  has(uuid: string): boolean {
    return this.#known.has(uuid);
  }

  /** An ended swap of elsewhere is in the store now: nobody may swap under its uuid again. */
  addEnded(uuid: string): void {
    this.#known.add(uuid);
  }

  /** Whether nothing about this swap can change any more: what its log says once, it says for good. */
  isSettled(uuid: string): boolean {
    return this.#known.has(uuid) && !this.#unsettled.has(uuid);
  }

  obstacle(): string | null {
    return this.#deps.store.obstacle?.() ?? null;
  }

  activeUuids(): readonly string[] {
    const running = [...this.#tasks.values()].filter((t) => !t.state.finished).map((t) => t.uuid);
    return [...running, ...this.#waiting.unfinished.map((s) => s.uuid)];
  }

  activeWith(ticker: string): readonly string[] {
    const running = this.#tasksWith(ticker).filter((t) => !t.state.finished);
    return [...running, ...this.#waiting.with(ticker).filter((s) => !s.finished)].map((s) => s.uuid);
  }

  /** Whether a swap with a coin goes on, or has ended and may change yet: it is looked after only while its coins are there. */
  isWatching(ticker: string): boolean {
    return this.#tasksWith(ticker).length > 0 || this.#waiting.with(ticker).length > 0;
  }

  #tasksWith(ticker: string): readonly SwapTask[] {
    return [...this.#tasks.values()].filter(({ state: { terms } }) => terms.makerCoin === ticker || terms.takerCoin === ticker);
  }

  /** The log of a swap; null when this node never had it. */
  async log(uuid: string): Promise<readonly StoredEvent[] | null> {
    const live = this.#tasks.get(uuid)?.events ?? this.#recent.get(uuid);
    if (live) return live;
    const stored = await this.#deps.store.log(uuid).catch((cause: unknown) => {
      this.#unread.tell(uuid, cause);
      throw cause;
    });
    return stored.length > 0 ? stored : null;
  }

  /** What a running swap last had trouble with; null if nothing. */
  troubleOf(uuid: string): string | null {
    return this.#tasks.get(uuid)?.lastTrouble ?? null;
  }

  /** What a chain of a running swap knows and cannot show, one sentence for the status; null: nothing. */
  unseenOf(uuid: string): string | null {
    return this.#tasks.get(uuid)?.unseen ?? null;
  }

  /** Joins the topic of a swap that may start in a moment, so that its first message is not missed. */
  expect(uuid: string): void {
    if (!this.#tasks.has(uuid)) this.#expected.add(uuid);
  }

  async start(match: SwapMatch): Promise<void> {
    const { store } = this.#deps;
    const makerCoin = this.#deps.coin(match.makerCoin);
    const takerCoin = this.#deps.coin(match.takerCoin);
    if (!makerCoin || !takerCoin) throw new Error(`swap ${match.uuid}: ${makerCoin ? match.takerCoin : match.makerCoin} is not active`);
    if (await store.has(match.uuid)) throw new Error(`swap ${match.uuid} exists already`);
    const [own, other] = match.role === "maker" ? [makerCoin, takerCoin] : [takerCoin, makerCoin];
    own.adopt(match.reservation);
    if (match.claimReservation) other.adopt(match.claimReservation);
    this.#unsettled.add(match.uuid);
    const first = await this.#create(match, makerCoin, takerCoin).catch((cause: unknown) => {
      if (!this.#known.has(match.uuid)) this.#unsettled.delete(match.uuid);
      own.release(match.reservation);
      if (match.claimReservation) other.release(match.claimReservation);
      throw cause;
    });
    const { terms } = first.event;
    this.#known.add(terms.uuid);
    const task = this.#launch([first], makerCoin, takerCoin);
    task.reservation = match.reservation;
    task.claimReservation = match.claimReservation;
    this.#deps.onEvent(task.uuid, task.events);
    task.run();
    for (const early of this.#expected.take(task.uuid)) void this.onGossip(early);
  }

  /** Stores a new swap. Rejects when nothing was stored; also when nobody can say: such a swap counts as known, and goes on after a start that finds it. */
  async #create(match: SwapMatch, makerCoin: SwapCoin, takerCoin: SwapCoin): Promise<StoredEvent & { event: { type: "started" } }> {
    const { clock, store } = this.#deps;
    for (;;) {
      const atMs = clock.nowMs();
      const { terms, marks } = await startTerms(this.#deps, match, makerCoin, takerCoin, Math.floor(atMs / 1_000));
      const first = { v: 1, atMs, event: { type: "started", terms } } as const;
      try {
        await store.create(summaryOf(terms), first, marks);
        return first;
      } catch (cause) {
        // Only the answer may have been lost: what is stored is a swap that runs.
        const stored = await store.log(match.uuid).catch(() => {
          // Taken for new its volume would be traded once more.
          this.#known.add(match.uuid);
          throw cause;
        });
        if (JSON.stringify(stored) === JSON.stringify([first])) return first;
        // Two starts of one second may draw the same secret: the second draws again.
        const [mark] = marks;
        if (!mark || stored.length > 0 || !(await store.isMarked(mark))) throw cause;
      }
    }
  }

  #resume(log: readonly StoredEvent[], makerCoin: SwapCoin, takerCoin: SwapCoin, reserve: () => Reserved): void {
    const task = this.#launch(log, makerCoin, takerCoin);
    const { own, claim } = reserve();
    task.reservation = own;
    task.claimReservation = claim;
    this.#deps.log.info("swap_resumed", { swap: task.uuid, events: log.length });
    void this.#takeUp(task);
  }

  /** Has a stored swap go on; where its log may lack a payment of ours, the chain is asked before anything else. */
  async #takeUp(task: SwapTask): Promise<void> {
    const { clock } = this.#deps;
    const isObservedFirst = (): boolean => isTakenUp(task.state) && task.state.finished === null;
    while ((mayHavePaid(task.state) || isObservedFirst()) && !task.stopped.aborted) {
      try {
        if (mayHavePaid(task.state)) await takeUpPayment(task, task.stopped);
        if (isObservedFirst()) await observeFirst(task, task.stopped);
        break;
      } catch (cause) {
        if (task.stopped.aborted) return;
        task.trouble(`looking for our payment: ${reasonOf(cause)}`);
        await sleep(clock, LOOK_AGAIN_MS, task.stopped).catch(() => undefined);
      }
    }
    if (task.stopped.aborted) return;
    task.run();
    this.#settleIfDeep(task);
  }

  #launch(log: readonly StoredEvent[], makerCoin: SwapCoin, takerCoin: SwapCoin): SwapTask {
    const { clock, store, p2p } = this.#deps;
    const { terms } = fold(log.map((e) => e.event));
    const { uuid } = terms;
    const topic = TOPIC_PREFIX + uuid;
    const mail = new OutgoingMail(this.#deps.keys.secretKey);
    const task: SwapTask = new SwapTask(
      {
        clock,
        store,
        log: this.#deps.log,
        makerCoin,
        takerCoin,
        timing: this.#deps.timing,
        send: (message) => p2p.publish(topic, mail.envelopeOf(message)),
        secret: () => this.#secretOf(terms),
        runDuty,
        ownTx: (txid) => this.#ownTx(txid),
        profileOfFee: (t, raw) => this.#deps.profileOfFee(t.state.terms, raw, takerCoin),
        feeAllowances: this.#feeAllowances,
        onEvent: (t) => this.#afterEvent(t),
      },
      log,
    );
    this.#tasks.set(uuid, task);
    this.#ownTxs.add(uuid, log);
    p2p.subscribe(topic);
    this.#news.follow(task, [makerCoin.chain, takerCoin.chain]);
    this.#cleanups.set(uuid, () => {
      this.#news.unfollow(task);
      p2p.unsubscribe(topic);
    });
    return task;
  }

  /** The maker's secret; of a swap that KDF began the one KDF drew. */
  #secretOf({ secretSalt, startedAt, takenOver }: SwapTerms): Uint8Array | null {
    if (secretSalt !== null) return this.#deps.keys.deriveSecret(startedAt, secretSalt).secret;
    return takenOver?.secret ? fromHex(takenOver.secret) : null;
  }

  /** An own transaction of a live swap, or of one that settled lately. */
  #ownTx(txid: string): OwnTxOfSwap | null {
    const uuid = this.#ownTxs.swapOf(txid) ?? "";
    const [task, log] = [this.#tasks.get(uuid), this.#recent.get(uuid)];
    const state = task?.state ?? (log && fold(log.map(({ event }) => event)));
    return state ? ownTxIn(state, txid) : null;
  }

  #afterEvent(task: SwapTask): void {
    this.#ownTxs.add(task.uuid, task.events.slice(-1));
    if (this.#tasks.has(task.uuid)) this.#news.changed(task);
    this.#deps.onEvent(task.uuid, task.events);
    if (task.state.finished) {
      this.#releaseFunds(task);
      this.#settleIfDeep(task);
    }
  }

  #releaseFunds(task: SwapTask): void {
    const s = task.state;
    const coin = task.coin(s.terms.role);
    // What never left never will. A fee that was sent may confirm yet, by whoever has it: its inputs stay taken.
    const unsent = [s.own.fee, s.own[ownPayment(s.terms.role)]].filter((tx) => tx && !tx.attempted);
    if (s.finished === "failed") for (const tx of unsent) coin.releaseInputs(fromHex(tx?.raw ?? ""));
    if (task.reservation) coin.release(task.reservation);
    task.reservation = null;
    if (task.claimReservation) task.coin(s.terms.role === "maker" ? "taker" : "maker").release(task.claimReservation);
    task.claimReservation = null;
  }

  /** A finished swap is watched until nothing about it can change any more; a reorg before that sends its transactions again. */
  #settleIfDeep(task: SwapTask): void {
    if (!this.#tasks.has(task.uuid) || !isSettled(task)) return;
    this.#drop(task);
    this.#remember(task.uuid, task.events);
    void task
      .stop()
      .then(() => this.#unsettled.delete(task.uuid))
      .then(() => forgetSwap(task))
      .then(() => this.#deps.store.markSettled(task.uuid))
      .then(() => this.#deps.onSettled?.(task.uuid, task.events))
      .catch((cause: unknown) => this.#deps.log.warn("swap_not_marked_settled", { swap: task.uuid, error: String(cause) }));
  }

  #drop(task: SwapTask): void {
    this.#tasks.delete(task.uuid);
    this.#ownTxs.forget(task.uuid, task.events);
    this.#cleanups.get(task.uuid)?.();
    this.#cleanups.delete(task.uuid);
  }

  #remember(uuid: string, log: readonly StoredEvent[]): void {
    this.#recent.set(uuid, log);
    this.#ownTxs.add(uuid, log);
    const [oldest] = this.#recent;
    if (this.#recent.size <= RECENT_LOGS || !oldest) return;
    this.#recent.delete(oldest[0]);
    this.#ownTxs.forget(...oldest);
  }

  /** Gossip of `swap/…` topics. */
  onGossip(message: GossipMessage): GossipVerdict | Promise<GossipVerdict> {
    const uuid = message.topic.slice(TOPIC_PREFIX.length);
    const task = this.#tasks.get(uuid);
    if (!task) {
      this.#expected.put(uuid, message);
      return "accept";
    }
    const read = this.#mail.read(message, fromHex(task.state.terms.counterparty));
    return read instanceof Promise ? read.then((late) => this.#heard(task, late), ignoreIfAborted) : this.#heard(task, read);
  }

  #heard(task: SwapTask, { message, verdict }: ReadMail): GossipVerdict {
    if (message) this.#deliver(task, message);
    return verdict;
  }

  #deliver(task: SwapTask, message: SwapMessage): void {
    this.#deps.log.debug("swap_message", { swap: task.uuid, message: message.type });
    task.hear(message);
  }
}

/** The node is stopping, and nobody waits for the verdict. */
function ignoreIfAborted(cause: unknown): GossipVerdict {
  if (cause instanceof Aborted) return "ignore";
  throw cause;
}
