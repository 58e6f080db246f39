import { fromUnits, type Rational, toDecimalString, toUnits } from "../../core/money/rational.ts";
import {
  type Ban,
  banOf,
  gradeOf,
  isTrusted,
  type PeerRecord,
  trustedMatches,
  trustedUnits,
  withFinishedSwap,
  withProof,
  withSilence,
} from "../../core/peers/peerRecord.ts";
import { feeShareOf, heldByStrangers, matchShareOf, type OpenHold, SHARE_DIVISOR, shareOf } from "../../core/peers/strangersShare.ts";
import { conductOf } from "../../core/peers/swapConduct.ts";
import type { StoredEvent } from "../../core/swap/events.ts";
import { ExpiringMap } from "../expiringMap.ts";
import type { FeesAsk, PeerPolicy as OrdersPolicy, ReserveAsk, Share } from "../orders/ordersDeps.ts";
import { LoanPauses } from "./loanPauses.ts";
import { PeerBook, type PeerBookDeps, peerIdOf } from "./peerBook.ts";
import { UnpaidSwaps } from "./unpaidSwaps.ts";
import { VainSwaps } from "./vainSwaps.ts";

/** How long a reserved offer waits for `connect`: KDF's 30 s for keys with history, less for others (its takers connect after 3 s). */
const CONNECT_MS = { known: 30_000, stranger: 15_000, alone: 10_000 } as const;
/** A request is held against a key with history once in so long: it bears no date, and whoever heard it can say it again. So many are remembered. */
const REPLAY_MS = 86_400_000;
const MAX_HELD_AGAINST = 10_000;
/** A full share is told this often per coin. */
const TELL_EVERY_MS = 60_000;

export type PeerPolicyDeps = PeerBookDeps & {
  /** An active coin's spendable balance in whole coins, and its decimals; null when it is not active. */
  readonly coin: (ticker: string) => { readonly spendable: Rational; readonly decimals: number } | null;
};

/** A ban as others see it. `pubkey`: X coordinate, 64 hex digits. */
export type ListedBan = Ban & { readonly pubkey: string };

/** With whom this node trades, and how much of a balance those may tie up that have paid nothing yet (docs/safety-peers.md). */
export class PeerPolicy implements OrdersPolicy {
  readonly #deps: PeerPolicyDeps;
  readonly #book: PeerBook;
  readonly #unpaid = new UnpaidSwaps();
  readonly #loans: LoanPauses;
  readonly #vain: VainSwaps;
  /** Requests of keys with history that were offered in vain, by key and uuid. */
  readonly #unanswered: ExpiringMap<true>;
  readonly #toldMs = new Map<string, number>();

  constructor(deps: PeerPolicyDeps) {
    this.#deps = deps;
    this.#book = new PeerBook(deps);
    this.#loans = new LoanPauses(deps.clock);
    this.#vain = new VainSwaps(deps.clock);
    this.#unanswered = new ExpiringMap(deps.clock, REPLAY_MS, MAX_HELD_AGAINST);
  }

  open(): Promise<void> {
    return this.#book.open();
  }
  close(): Promise<void> {
    return this.#book.close();
  }

  // --- bans ---

  isBanned(pubkey: string): boolean {
    return banOf(this.#book.get(peerIdOf(pubkey)), this.#nowMs) !== null;
  }

  /**
   * Bans a key on the operator's word.
   * @param durationMs null: until it is lifted
   * @returns `banned_already`, also while a ban for a failed swap runs; `full` when the list holds as many of the operator's own as it can
   */
  ban(pubkey: string, reason: string, durationMs: number | null): "done" | "banned_already" | "full" {
    const id = peerIdOf(pubkey);
    if (this.isBanned(id)) return "banned_already";
    const untilMs = durationMs === null ? null : this.#nowMs + durationMs;
    const stored = this.#book.put(id, { ...this.#book.get(id), ban: { reason: { kind: "Manual", reason }, untilMs } }, true);
    if (stored) this.#deps.log.info("peer_banned_manually", { pubkey: id, reason, until_ms: untilMs });
    return stored ? "done" : "full";
  }

  /** Lifts a ban, and with it what it was for. @returns it, or null when the key was not banned */
  unban(pubkey: string): ListedBan | null {
    const id = peerIdOf(pubkey);
    const record = this.#book.get(id);
    const ban = banOf(record, this.#nowMs);
    if (!ban) return null;
    this.#book.put(id, { ...record, ban: null, offences: 0 }, true);
    this.#deps.log.info("peer_unbanned", { pubkey: id });
    return { pubkey: id, ...ban };
  }

  /** Bans in force. */
  banned(): readonly ListedBan[] {
    const bans: ListedBan[] = [];
    for (const [pubkey, record] of this.#book.all()) {
      const ban = banOf(record, this.#nowMs);
      if (ban) bans.push({ pubkey, ...ban });
    }
    return bans;
  }

  // --- evidence ---

  /**
   * To be called after each stored event of a swap, with its whole log.
   * @returns `came_to_nothing` once, when a swap of this maker ends whose taker has paid nothing
   */
  onSwapEvent(uuid: string, log: readonly StoredEvent[]): "came_to_nothing" | null {
    const before = this.#unpaid.has(uuid);
    const holder = this.#unpaid.follow(uuid, log);
    if (before && holder === "paid") this.#loans.repaid(uuid);
    const isInVain = before && holder === "ended";
    if (isInVain) {
      this.#loans.failed(uuid, "swap");
      this.#vain.cameToNothing();
    }
    this.#judge(uuid, log);
    return isInVain ? "came_to_nothing" : null;
  }

  #judge(uuid: string, log: readonly StoredEvent[]): void {
    const conduct = conductOf(log);
    const first = log[0]?.event;
    if (!conduct || !first || !("terms" in first)) return;
    const id = peerIdOf(first.terms.counterparty);
    const nowMs = this.#nowMs;
    if (conduct.kind === "proof") {
      this.#change(id, (r) => withProof(r, conduct.reason, nowMs), { swap: uuid, event: conduct.reason.event });
    } else if (conduct.kind === "silence") {
      this.#change(id, (r) => withSilence(r, conduct.what, nowMs), { swap: uuid, silence: conduct.what });
    } else {
      this.#change(id, (r) => withFinishedSwap(r, conduct.units, nowMs), { swap: uuid });
    }
  }

  /** A swap of a former run: only what it holds counts, its events have been judged. */
  resume(uuid: string, log: readonly StoredEvent[]): void {
    this.#unpaid.follow(uuid, log);
  }

  onNeverConnected(uuid: string, sender: string): void {
    this.#loans.failed(uuid, "handshake");
    const id = peerIdOf(sender);
    const lasting = this.#book.get(id).finished > 0;
    if (lasting && this.#unanswered.get(`${id} ${uuid}`)) return;
    if (lasting) this.#unanswered.set(`${id} ${uuid}`, true);
    this.#change(id, (r) => withSilence(r, "neverConnected", this.#nowMs), { request: uuid, silence: "neverConnected" }, lasting);
  }

  isSuspect(pubkey: string): boolean {
    return gradeOf(this.#book.get(peerIdOf(pubkey)), this.#nowMs) !== "none";
  }

  #change(id: string, change: (r: PeerRecord) => PeerRecord, fields: object, lasting = true): void {
    const before = this.#book.get(id);
    const after = change(before);
    if (!this.#book.put(id, after, lasting)) return;
    const [was, is] = [gradeOf(before, this.#nowMs), gradeOf(after, this.#nowMs)];
    const untilMs = is === "ban" ? (after.ban?.untilMs ?? null) : undefined;
    if (was !== is) this.#deps.log[is === "ban" ? "warn" : "info"](`peer_graded`, { pubkey: id, was, is, until_ms: untilMs, ...fields });
  }

  // --- shares ---

  /** Whether history vouches for the key in this coin at all. */
  isKnown(sender: string, ticker: string): boolean {
    return this.#trusted(ticker)(peerIdOf(sender)) > 0n;
  }

  /** Whether history vouches for the key in any coin. */
  hasHistory(pubkey: string): boolean {
    return isTrusted(this.#book.get(peerIdOf(pubkey)), this.#nowMs);
  }

  mayReserve(ask: ReserveAsk): Share {
    const coin = this.#deps.coin(ask.coin);
    if (!coin) return { kind: "refused", reason: "coin" };
    const peer = peerIdOf(ask.sender);
    const trusted = this.#trusted(ask.coin);
    if (trusted(peer) === 0n && !this.#vain.hasRoom(this.#unpaid.size + ask.held.length)) return this.#refuse(ask, "too_often_in_vain");
    const held = this.#holds(ask.coin, ask.held);
    const ofAmounts = shareOf({
      peer,
      units: toUnits(ask.amount, coin.decimals),
      orderUuid: ask.orderUuid,
      orderAvailable: toUnits(ask.orderAvailable, coin.decimals),
      spendable: toUnits(coin.spendable, coin.decimals),
      held,
      trusted,
      throttled: gradeOf(this.#book.get(peer), this.#nowMs) === "throttle",
    });
    const verdict =
      ofAmounts.kind === "within" ? matchShareOf({ peer, held, vouched: this.#vouched(ask.coin), hasRoom: ask.hasRoom }) : ofAmounts;
    if (verdict.kind === "within") {
      return { kind: "granted", alone: null, connectWithinMs: trusted(peer) > 0n ? CONNECT_MS.known : CONNECT_MS.stranger };
    }
    if (verdict.kind === "refused") return this.#refuse(ask, verdict.reason);
    const alone = verdict.of === "order" ? `order ${ask.orderUuid}` : `balance ${ask.coin}`;
    const known = toUnits(ask.amount, coin.decimals) <= trusted(peer);
    if (known) return { kind: "granted", alone: null, connectWithinMs: CONNECT_MS.known };
    if (this.#loans.isPaused(alone)) return this.#refuse(ask, "alone_too_often");
    return { kind: "granted", alone, connectWithinMs: CONNECT_MS.alone };
  }

  mayHoldFees(ask: FeesAsk): Share {
    const payer = this.#deps.coin(ask.payer);
    if (!payer) return { kind: "refused", reason: "coin" };
    const peer = peerIdOf(ask.sender);
    const units = (amount: Rational): bigint => toUnits(amount, payer.decimals);
    const handshakes = ask.held.map(({ sender, amount }) => ({ peer: peerIdOf(sender), amount }));
    const verdict = feeShareOf({
      peer,
      units: units(ask.amount),
      balance: units(payer.spendable),
      held: [...this.#unpaid.feesOf(ask.payer), ...handshakes].map((hold) => ({ peer: hold.peer, units: units(hold.amount) })),
      vouched: this.#vouched(ask.coin),
      throttled: gradeOf(this.#book.get(peer), this.#nowMs) === "throttle",
    });
    if (verdict.kind === "refused") return verdict;
    const connectWithinMs = CONNECT_MS[this.isKnown(ask.sender, ask.coin) ? "known" : "stranger"];
    if (verdict.kind === "within") return { kind: "granted", alone: null, connectWithinMs };
    const alone = `fees ${ask.payer}`;
    return this.#loans.isPaused(alone)
      ? { kind: "refused", reason: "alone_too_often" }
      : { kind: "granted", alone, connectWithinMs: CONNECT_MS.alone };
  }

  isUnpaid(swap: string): boolean {
    return this.#unpaid.has(swap);
  }

  unpaidUnits(coin: string): bigint {
    return this.#unpaid.of(coin).reduce((sum, { units }) => sum + units, 0n);
  }

  onReserved(uuid: string, alone: string): void {
    this.#loans.began(uuid, alone);
  }

  /** What keys without history hold of a coin before they have paid anything, and the most they may. Whole coins. */
  strangers(ticker: string, handshakes: ReserveAsk["held"]): { readonly held: Rational; readonly limit: Rational } | null {
    const coin = this.#deps.coin(ticker);
    if (!coin) return null;
    const held = heldByStrangers(this.#holds(ticker, handshakes), this.#trusted(ticker));
    const limit = toUnits(coin.spendable, coin.decimals) / SHARE_DIVISOR;
    return { held: fromUnits(held, coin.decimals), limit: fromUnits(limit, coin.decimals) };
  }

  #holds(ticker: string, handshakes: ReserveAsk["held"]): readonly OpenHold[] {
    return [
      ...handshakes.map(({ sender, units, orderUuid }) => ({ peer: peerIdOf(sender), units, orderUuid })),
      ...this.#unpaid.of(ticker),
    ];
  }

  #trusted(ticker: string): (id: string) => bigint {
    return (id) => trustedUnits(this.#book.get(id), ticker, this.#nowMs);
  }

  #vouched(ticker: string): (id: string) => number {
    return (id) => trustedMatches(this.#book.get(id), ticker, this.#nowMs);
  }

  #refuse(ask: ReserveAsk, reason: Extract<Share, { kind: "refused" }>["reason"]): Share {
    const toldMs = this.#toldMs.get(ask.coin);
    const nowMs = this.#nowMs;
    const share = this.strangers(ask.coin, ask.held);
    if (share && (toldMs === undefined || Math.abs(nowMs - toldMs) >= TELL_EVERY_MS)) {
      this.#toldMs.set(ask.coin, nowMs);
      const [held, limit] = [toDecimalString(share.held), toDecimalString(share.limit)];
      this.#deps.log.warn("share_of_keys_without_history_used_up", { coin: ask.coin, reason, held, limit });
    }
    return { kind: "refused", reason };
  }

  get #nowMs(): number {
    return this.#deps.clock.nowMs();
  }
}
