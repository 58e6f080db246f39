import { add, isZero, lte, type Rational, rational, ZERO } from "../core/money/rational.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

/** Why a key is banned. `event`: KDF's name of the step that failed. */
export type BanReason =
  | { readonly kind: "Manual"; readonly reason: string }
  | { readonly kind: "FailedSwap"; readonly swap: string; readonly event: string };

/** `untilMs`: unix ms; null = until it is lifted. */
export type Ban = { readonly pubkey: string; readonly reason: BanReason; readonly untilMs: number | null };

/** How long bad faith in a swap counts. KDF: the same, but for mere silence too (reference swap-protocol.md 6.7). */
const FAILED_SWAP_BAN_MS = 3_600_000;
/** Bans kept; the oldest ones for failed swaps make room, those of the operator never do. */
const MAX_BANS = 10_000;

export type PeerPolicyDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /** Spendable balance of an active coin, whole coins; null when it is not active. */
  readonly spendable: (ticker: string) => Rational | null;
  /** What swaps hold of a coin whose taker has paid no fee yet, whole coins; with `sender`, only those with that key. */
  readonly unpaid: (ticker: string, sender?: string) => Rational;
};

/**
 * With whom this node trades, and how much of a balance one peer may tie up. Keys are compared by their X coordinate, as
 * everywhere in the protocol; 66 hex digits or 64. In memory: a restart forgets the bans, as KDF's does.
 */
export class PeerPolicy {
  readonly #deps: PeerPolicyDeps;
  readonly #bans = new Map<string, Ban>();

  constructor(deps: PeerPolicyDeps) {
    this.#deps = deps;
  }

  isBanned(pubkey: string): boolean {
    return this.#live(idOf(pubkey)) !== undefined;
  }

  /** Bans a key whose owner broke the protocol in a way no accident or network trouble explains. */
  onBadFaith(pubkey: string, swap: string, event: string): void {
    const id = idOf(pubkey);
    if (this.#live(id)?.untilMs === null) return;
    this.#makeRoom();
    this.#bans.delete(id);
    this.#bans.set(id, { pubkey: id, reason: { kind: "FailedSwap", swap, event }, untilMs: this.#deps.clock.nowMs() + FAILED_SWAP_BAN_MS });
    this.#deps.log.warn("peer_banned", { pubkey: id, swap, event });
  }

  /**
   * Bans a key on the operator's word.
   * @param durationMs null: until it is lifted
   * @returns false when the key is banned already, or when the list is full of the operator's own bans
   */
  ban(pubkey: string, reason: string, durationMs: number | null): boolean {
    const id = idOf(pubkey);
    if (this.#live(id)) return false;
    if (!this.#makeRoom()) return false;
    const untilMs = durationMs === null ? null : this.#deps.clock.nowMs() + durationMs;
    this.#bans.set(id, { pubkey: id, reason: { kind: "Manual", reason }, untilMs });
    this.#deps.log.info("peer_banned_manually", { pubkey: id, reason });
    return true;
  }

  /** Lifts a ban. @returns it, or null when the key was not banned */
  unban(pubkey: string): Ban | null {
    const id = idOf(pubkey);
    const ban = this.#live(id) ?? null;
    this.#bans.delete(id);
    return ban;
  }

  /** Bans in force, oldest first. */
  banned(): readonly Ban[] {
    return [...this.#bans.keys()].flatMap((id) => this.#live(id) ?? []);
  }

  /**
   * Whether funds may be held for one more handshake with a sender. Handshakes, and swaps up to the taker's fee, cost
   * nothing to open, so that one key must not keep a whole balance busy: together they hold at most half of it. A request
   * that comes when nothing else is open may take all, or large orders could never be matched whole.
   *
   * @param held what open handshakes with this sender hold of the coin; `heldByAll`: with everybody. Whole coins
   */
  mayReserve(sender: string, coin: string, amount: Rational, held: Rational, heldByAll: Rational): boolean {
    const { spendable, unpaid } = this.#deps;
    if (isZero(heldByAll) && isZero(unpaid(coin))) return true;
    const all = spendable(coin) ?? ZERO;
    return lte(add(add(held, unpaid(coin, sender)), amount), rational(all.n, all.d * 2n));
  }

  #live(id: string): Ban | undefined {
    const ban = this.#bans.get(id);
    if (ban?.untilMs == null || ban.untilMs > this.#deps.clock.nowMs()) return ban;
    this.#bans.delete(id);
    return undefined;
  }

  #makeRoom(): boolean {
    if (this.#bans.size < MAX_BANS) return true;
    for (const id of [...this.#bans.keys()]) this.#live(id);
    const oldest = [...this.#bans.values()].find((b) => b.reason.kind === "FailedSwap");
    if (this.#bans.size >= MAX_BANS && oldest) this.#bans.delete(oldest.pubkey);
    return this.#bans.size < MAX_BANS;
  }
}

/** The X coordinate, 64 hex digits. */
const idOf = (pubkey: string): string => pubkey.slice(-64).toLowerCase();
