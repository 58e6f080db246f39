import { parseEnvelope, signEnvelope } from "../../core/message/envelope.ts";
import { encodeSwapMessage, parseSwapMessage } from "../../core/message/swapMessage.ts";
import type { SwapMessage } from "../../core/message/types.ts";
import { toUnits } from "../../core/money/rational.ts";
import { rationalToText } from "../../core/swap/amountText.ts";
import { type FeeFigure, ownPayment, type StoredEvent, type SwapTerms } from "../../core/swap/events.ts";
import { type Duty, fold, outcomeOf, paymentMayExist, type SwapState } from "../../core/swap/swapState.ts";
import { equalBytes, fromHex, toHex } from "../../core/util/bytes.ts";
import type { Secret } from "../../core/util/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { GossipMessage, GossipVerdict, P2p } from "../../ports/network.ts";
import type { Rng } from "../../ports/rng.ts";
import type { SignatureVerifier } from "../../ports/signatures.ts";
import type { SwapStore, SwapSummary, UniqueMark } from "../../ports/swapStore.ts";
import type { SwapMatch, SwapStarter } from "../tradingCoin.ts";
import { chainOf } from "./contracts.ts";
import { claim, refund } from "./duties/claimAndRefund.ts";
import { awaitFee, payFee } from "./duties/fee.ts";
import { negotiate } from "./duties/negotiate.ts";
import { decidingSlots, observe } from "./duties/observe.ts";
import { awaitPayment, pay, tell } from "./duties/payment.ts";
import { publish } from "./duties/publish.ts";
import type { SwapCoin } from "./swapCoin.ts";
import { SwapTask } from "./swapTask.ts";

/** Dex fee of one swap under this node's network profile, base units of the taker coin. */
export type DexFeeUnits = { readonly feeUnits: bigint; readonly burnUnits: bigint; readonly feePubkey: Uint8Array | null };

/** The maker's secret for one start (design D5): derived, so that the seed alone can finish the swap. */
export type DeriveSecret = (startedAt: number, salt: number) => { readonly secret: Uint8Array; readonly hash: Uint8Array };

export type SwapRunnerDeps = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly p2p: P2p;
  readonly verifier: SignatureVerifier;
  readonly store: SwapStore;
  readonly coin: (ticker: string) => SwapCoin | undefined;
  /** Fires when a coin became active: swaps waiting for it are taken up. */
  readonly onCoinActivated: (listener: () => void) => () => void;
  readonly keys: { readonly publicKey: Uint8Array; readonly secretKey: Secret<Uint8Array>; readonly deriveSecret: DeriveSecret };
  readonly dexFee: (match: SwapMatch, takerCoin: SwapCoin) => DexFeeUnits;
  readonly profileOfFee: (terms: SwapTerms, raw: Uint8Array, takerCoin: SwapCoin, takerKey: Uint8Array) => string | null;
  readonly gui: string | null;
  readonly version: string;
  /** Export and stream hook; must not throw. */
  readonly onEvent: (uuid: string, log: readonly StoredEvent[]) => void;
};

const TOPIC_PREFIX = "swap/";
/** Blocks on top of a final transaction after which a finished swap is no longer watched. */
const SETTLED_EXTRA_CONFS = 10;
/** Tries to draw a secret that was never used; the salt has 256 values, the second is part of the derivation. */
const SECRET_TRIES = 256;
/** Starts waited for at once, how long each, and how many messages are kept for it. */
const MAX_EXPECTED = 100;
const EXPECT_MS = 60_000;
const MAX_EARLY_MESSAGES = 8;
/** Logs of ended swaps kept in memory for status calls. */
const RECENT_LOGS = 200;

/** Starts, resumes and supervises all swaps of this node. */
export class SwapRunner implements SwapStarter {
  readonly #deps: SwapRunnerDeps;
  readonly #tasks = new Map<string, SwapTask>();
  /** Stored swaps that wait for a coin to be enabled. */
  readonly #waiting = new Map<string, SwapSummary>();
  readonly #recent = new Map<string, readonly StoredEvent[]>();
  /** Topics joined ahead of a start, with what came on them. */
  readonly #expected = new Map<string, { readonly messages: GossipMessage[]; readonly cancel: () => void }>();
  readonly #unsubscribe: (() => void)[] = [];
  /** Every uuid this node ever swapped under. */
  readonly #known = new Set<string>();
  #kickStartCoins: readonly string[] = [];

  constructor(deps: SwapRunnerDeps) {
    this.#deps = deps;
  }

  /** Loads what a former run left open. Swaps whose coins are active go on at once, the others when they are. */
  async open(): Promise<void> {
    const open = await this.#deps.store.unsettled();
    for (const uuid of await this.#deps.store.allUuids()) this.#known.add(uuid);
    for (const s of open) this.#waiting.set(s.uuid, s);
    this.#kickStartCoins = [...new Set(open.filter((s) => !s.finished).flatMap((s) => [s.myCoin, s.otherCoin]))];
    this.#unsubscribe.push(this.#deps.onCoinActivated(() => void this.#resumeReady()));
    await this.#resumeReady();
  }

  async close(): Promise<void> {
    for (const u of this.#unsubscribe) u();
    for (const uuid of [...this.#expected.keys()]) this.#unexpect(uuid);
    await Promise.all([...this.#tasks.values()].map((t) => t.stop()));
    this.#tasks.clear();
  }

  /** Tickers a client must enable for stored swaps to go on; fixed at start-up, as in KDF (reference rpc.md 6.9). */
  kickStartCoins(): readonly string[] {
    return this.#kickStartCoins;
  }

  has(uuid: string): boolean {
    return this.#known.has(uuid);
  }

  activeUuids(): readonly string[] {
    const running = [...this.#tasks.values()].filter((t) => !t.state.finished).map((t) => t.uuid);
    return [...running, ...[...this.#waiting.values()].filter((s) => !s.finished).map((s) => s.uuid)];
  }

  activeWith(ticker: string): readonly string[] {
    const uses = (t: SwapTask): boolean => t.state.terms.makerCoin === ticker || t.state.terms.takerCoin === ticker;
    return [...this.#tasks.values()].filter((t) => uses(t) && !t.state.finished).map((t) => t.uuid);
  }

  /** The log of a swap; null when this node never had it. */
  async log(uuid: string): Promise<readonly StoredEvent[] | null> {
    const live = this.#tasks.get(uuid)?.events ?? this.#recent.get(uuid);
    if (live) return live;
    const stored = await this.#deps.store.log(uuid);
    return stored.length > 0 ? stored : null;
  }

  /** What a running swap last had trouble with; null if nothing. */
  troubleOf(uuid: string): string | null {
    return this.#tasks.get(uuid)?.lastTrouble ?? null;
  }

  /** Joins the topic of a swap that may start in a moment, so that its first message is not missed. */
  expect(uuid: string): void {
    if (this.#tasks.has(uuid) || this.#expected.has(uuid) || this.#expected.size >= MAX_EXPECTED) return;
    const cancel = this.#deps.clock.after(EXPECT_MS, () => this.#unexpect(uuid));
    this.#expected.set(uuid, { messages: [], cancel });
    this.#deps.p2p.subscribe(TOPIC_PREFIX + uuid);
  }

  #unexpect(uuid: string): readonly GossipMessage[] {
    const early = this.#expected.get(uuid);
    if (!early) return [];
    early.cancel();
    this.#expected.delete(uuid);
    if (!this.#tasks.has(uuid)) this.#deps.p2p.unsubscribe(TOPIC_PREFIX + uuid);
    return early.messages;
  }

  async start(match: SwapMatch): Promise<void> {
    const { clock, store } = this.#deps;
    const makerCoin = this.#deps.coin(match.makerCoin);
    const takerCoin = this.#deps.coin(match.takerCoin);
    if (!makerCoin || !takerCoin) throw new Error(`swap ${match.uuid}: ${makerCoin ? match.takerCoin : match.makerCoin} is not active`);
    if (await store.has(match.uuid)) throw new Error(`swap ${match.uuid} exists already`);
    const { terms, marks } = await this.#terms(match, makerCoin, takerCoin);
    const own = match.role === "maker" ? makerCoin : takerCoin;
    own.adopt(match.reservation);
    const first: StoredEvent = { v: 1, atMs: clock.nowMs(), event: { type: "started", terms } };
    try {
      await store.create(summaryOf(terms), first, marks);
    } catch (cause) {
      own.release(match.reservation);
      throw cause;
    }
    this.#known.add(terms.uuid);
    const task = this.#launch(terms.uuid, [first], makerCoin, takerCoin);
    task.reservation = match.reservation;
    this.#deps.onEvent(task.uuid, task.events);
    task.run();
    for (const early of this.#unexpect(task.uuid)) this.onGossip(early);
  }

  async #terms(match: SwapMatch, makerCoin: SwapCoin, takerCoin: SwapCoin): Promise<{ terms: SwapTerms; marks: readonly UniqueMark[] }> {
    const startedAt = Math.floor(this.#deps.clock.nowMs() / 1_000);
    const secret = match.role === "maker" ? await this.#drawSecret(startedAt) : null;
    const fee = this.#deps.dexFee(match, takerCoin);
    const tip = (coin: SwapCoin): number => coin.chain.status().tip?.height ?? 0;
    const terms: SwapTerms = {
      role: match.role,
      uuid: match.uuid,
      myOrderUuid: match.myOrderUuid,
      makerCoin: match.makerCoin,
      takerCoin: match.takerCoin,
      makerAmount: rationalToText(match.makerAmount),
      takerAmount: rationalToText(match.takerAmount),
      makerUnits: toUnits(match.makerAmount, makerCoin.decimals).toString(),
      takerUnits: toUnits(match.takerAmount, takerCoin.decimals).toString(),
      makerConfs: match.makerConfs,
      makerNota: match.makerNota,
      takerConfs: match.takerConfs,
      takerNota: match.takerNota,
      lockDurationSec: match.lockDurationSec,
      startedAt,
      counterparty: toHex(match.counterparty),
      myPersistentPub: toHex(this.#deps.keys.publicKey),
      myMakerCoinPub: toHex(makerCoin.htlcPubkey),
      myTakerCoinPub: toHex(takerCoin.htlcPubkey),
      secretSalt: secret?.salt ?? null,
      secretHash: secret ? toHex(secret.hash) : null,
      makerStartHeight: tip(makerCoin),
      takerStartHeight: tip(takerCoin),
      dexFeeUnits: fee.feeUnits.toString(),
      dexBurnUnits: fee.burnUnits.toString(),
      dexFeePubkey: fee.feePubkey === null ? null : toHex(fee.feePubkey),
      fees: feeFigures(match, makerCoin, takerCoin),
      gui: this.#deps.gui,
      version: this.#deps.version,
    };
    return { terms, marks: secret ? [{ kind: "secret_hash", value: toHex(secret.hash) }] : [] };
  }

  async #drawSecret(startedAt: number): Promise<{ salt: number; hash: Uint8Array }> {
    for (let i = 0; i < SECRET_TRIES; i++) {
      const salt = this.#deps.rng.bytes(1)[0] ?? 0;
      const { hash } = this.#deps.keys.deriveSecret(startedAt, salt);
      if (!(await this.#deps.store.isMarked({ kind: "secret_hash", value: toHex(hash) }))) return { salt, hash };
    }
    throw new Error("no unused secret in this second; try again");
  }

  async #resumeReady(): Promise<void> {
    for (const s of [...this.#waiting.values()]) {
      const maker = s.role === "maker";
      const makerCoin = this.#deps.coin(maker ? s.myCoin : s.otherCoin);
      const takerCoin = this.#deps.coin(maker ? s.otherCoin : s.myCoin);
      if (!makerCoin || !takerCoin || !this.#waiting.delete(s.uuid)) continue;
      try {
        const log = await this.#deps.store.log(s.uuid);
        const task = this.#launch(s.uuid, log, makerCoin, takerCoin);
        takeUpFunds(task);
        this.#deps.log.info("swap_resumed", { swap: s.uuid, events: log.length });
        task.run();
      } catch (cause) {
        this.#waiting.set(s.uuid, s);
        this.#deps.log.error("swap_not_resumed", { swap: s.uuid, error: cause instanceof Error ? cause.message : String(cause) });
      }
    }
  }

  #launch(uuid: string, log: readonly StoredEvent[], makerCoin: SwapCoin, takerCoin: SwapCoin): SwapTask {
    const { clock, store, p2p } = this.#deps;
    const topic = TOPIC_PREFIX + uuid;
    const terms = fold(log.map((e) => e.event)).terms;
    const task: SwapTask = new SwapTask(
      {
        clock,
        store,
        log: this.#deps.log,
        makerCoin,
        takerCoin,
        send: (message) => p2p.publish(topic, signEnvelope(encodeSwapMessage(message), this.#deps.keys.secretKey.reveal())),
        secret: () => (terms.secretSalt === null ? null : this.#deps.keys.deriveSecret(terms.startedAt, terms.secretSalt).secret),
        runDuty,
        profileOfFee: (t, raw) => this.#deps.profileOfFee(t.state.terms, raw, takerCoin, fromHex(t.state.negotiated?.takerCoinPub ?? "")),
        onEvent: (t) => this.#afterEvent(t),
      },
      log,
    );
    this.#tasks.set(uuid, task);
    p2p.subscribe(topic);
    const wake = (): void => {
      task.wake();
      this.#settleIfDeep(task);
    };
    const offMaker = makerCoin.chain.onChange(wake);
    const offTaker = takerCoin.chain.onChange(wake);
    this.#cleanups.set(uuid, () => {
      offMaker();
      offTaker();
      p2p.unsubscribe(topic);
    });
    return task;
  }
  readonly #cleanups = new Map<string, () => void>();

  #afterEvent(task: SwapTask): void {
    this.#deps.onEvent(task.uuid, task.events);
    if (task.state.finished) {
      this.#releaseFunds(task);
      this.#settleIfDeep(task);
    }
  }

  #releaseFunds(task: SwapTask): void {
    if (!task.reservation) return;
    task.coin(task.state.terms.role).release(task.reservation);
    task.reservation = null;
  }

  /** A finished swap is watched until its deciding transaction is deep; a reorg before that sends it again. */
  #settleIfDeep(task: SwapTask): void {
    const s = task.state;
    if (!s.finished || !this.#tasks.has(task.uuid)) return;
    const deep = decidingSlots(task).some((slot) => {
      const coin = task.coin(chainOf(s.terms.role, slot));
      const fact = s.facts[slot];
      return fact?.confirmed === true && coin.chain.confirmations(fact.block) >= SETTLED_EXTRA_CONFS;
    });
    if (s.finished !== "failed" && !deep) return;
    this.#tasks.delete(task.uuid);
    this.#remember(task.uuid, task.events);
    this.#cleanups.get(task.uuid)?.();
    this.#cleanups.delete(task.uuid);
    void task
      .stop()
      .then(() => this.#deps.store.markSettled(task.uuid))
      .catch((cause: unknown) => this.#deps.log.warn("swap_not_marked_settled", { swap: task.uuid, error: String(cause) }));
  }

  #remember(uuid: string, log: readonly StoredEvent[]): void {
    this.#recent.set(uuid, log);
    const oldest = this.#recent.keys().next();
    if (this.#recent.size > RECENT_LOGS && !oldest.done) this.#recent.delete(oldest.value);
  }

  /** Gossip of `swap/…` topics. Only the counterparty's key counts; everything else is passed on unread. */
  onGossip(message: GossipMessage): GossipVerdict {
    const uuid = message.topic.slice(TOPIC_PREFIX.length);
    const task = this.#tasks.get(uuid);
    if (!task) {
      const early = this.#expected.get(uuid);
      if (early && early.messages.length < MAX_EARLY_MESSAGES) early.messages.push(message);
      return "accept";
    }
    const envelope = parseEnvelope(message.data);
    // Unsigned swap statistics travel on the same topic: not for us, and not the sender's fault.
    if (!envelope.ok) return "accept";
    const { publicKey, signature, digest, payload } = envelope.value;
    if (!this.#deps.verifier.verify(signature, digest, publicKey)) return "reject";
    // KDF compares the X coordinate only (reference swap-protocol.md 1.3).
    if (!equalBytes(publicKey.subarray(1), fromHex(task.state.terms.counterparty).subarray(1))) return "accept";
    const parsed = parseSwapMessage(payload);
    if (!parsed.ok) return "reject";
    this.#deliver(task, parsed.value);
    return "accept";
  }

  #deliver(task: SwapTask, message: SwapMessage): void {
    this.#deps.log.debug("swap_message", { swap: task.uuid, message: message.type });
    task.mailbox.put(message);
    task.wake();
  }
}

async function runDuty(task: SwapTask, duty: Duty, signal: AbortSignal): Promise<void> {
  switch (duty.do) {
    case "negotiate":
      return negotiate(task, signal);
    case "observe":
      return observe(task, signal);
    case "await_fee":
      return awaitFee(task, signal);
    case "pay_fee":
      return payFee(task);
    case "await_payment":
      return awaitPayment(task, signal);
    case "pay":
      return pay(task, signal);
    case "claim":
      return claim(task, signal);
    case "refund":
      return refund(task, signal);
    case "tell":
      return tell(task, duty.message, signal);
    case "publish":
      return publish(task, duty.slot, signal);
  }
}

/** After a restart: the inputs of stored transactions are taken, and what is still to be paid is reserved anew. */
function takeUpFunds(task: SwapTask): void {
  const s = task.state;
  const { role } = s.terms;
  const coin = task.coin(role);
  for (const slot of ["fee", ownPayment(role)] as const) {
    const tx = s.own[slot];
    if (tx && !s.facts[slot]?.confirmed) coin.lockInputs(fromHex(tx.raw));
  }
  if (outcomeOf(s) !== null || s.refund || s.abandoned || paymentMayExist(s) || s.own[ownPayment(role)]) return;
  const reserved = coin.reserveAgain(openAmounts(s));
  if (reserved.ok) task.reservation = reserved.value;
  else task.trouble("the funds of this swap could not be reserved again after the restart");
}

function openAmounts(s: SwapState): readonly bigint[] {
  if (s.terms.role === "maker") return [BigInt(s.terms.makerUnits)];
  const fee = BigInt(s.terms.dexFeeUnits) + BigInt(s.terms.dexBurnUnits);
  return s.own.fee || fee === 0n ? [BigInt(s.terms.takerUnits)] : [fee, BigInt(s.terms.takerUnits)];
}

function summaryOf(t: SwapTerms): SwapSummary {
  const maker = t.role === "maker";
  return {
    uuid: t.uuid,
    role: t.role,
    myCoin: maker ? t.makerCoin : t.takerCoin,
    otherCoin: maker ? t.takerCoin : t.makerCoin,
    startedAt: t.startedAt,
    finished: false,
  };
}

/** The figures of the `Started` event: own payment (and fee) transactions, and the spend of the other side's. */
function feeFigures(match: SwapMatch, makerCoin: SwapCoin, takerCoin: SwapCoin): readonly FeeFigure[] {
  const paid = (coin: SwapCoin, amount: ReturnType<SwapCoin["paymentFee"]>): FeeFigure => ({
    coin: coin.ticker,
    amount: rationalToText(amount.ok ? amount.value : coin.spendFee()),
    paidFromTradingVol: false,
  });
  const spend = (coin: SwapCoin): FeeFigure => ({ coin: coin.ticker, amount: rationalToText(coin.spendFee()), paidFromTradingVol: true });
  if (match.role === "maker") return [paid(makerCoin, makerCoin.paymentFee(match.makerAmount, "start")), spend(takerCoin)];
  return [
    paid(takerCoin, takerCoin.dexFeeTxFee(takerCoin.dust, "start")),
    paid(takerCoin, takerCoin.paymentFee(match.takerAmount, "start")),
    spend(makerCoin),
  ];
}
