import { ownClaim, type Slot } from "../../core/swap/events.ts";
import type { SwapState, TxVersion } from "../../core/swap/swapState.ts";
import { fromHex, toHex } from "../../core/util/bytes.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Reservation } from "../tradingCoin.ts";
import { takeChild } from "./duties/childVersions.ts";
import { KEEPS_NONCE_SEC, mayBeSignedAnew } from "./keepsNonce.ts";
import { StandInGas } from "./standInGas.ts";
import { type Needs, needsOf, type Unsent, unsentOf } from "./storedNeeds.ts";
import type { SwapCoin, TokenSteps } from "./swapCoin.ts";
import { type Decide, type GoOn, WaitingRenewals } from "./waitingRenewals.ts";

/** What a swap that is taken up has of its coins. */
export type Reserved = { readonly own: Reservation | null; readonly claim: Reservation | null };

/** By swap; each with the coin it was made by, which may have been replaced since. */
type Holds = Map<string, { readonly coin: SwapCoin; readonly reservation: Reservation }>;

function letGo(holds: Holds, uuid: string): void {
  const held = holds.get(uuid);
  holds.delete(uuid);
  held?.coin.release(held.reservation);
}

/**
 * The funds of swaps that are stored and do not run: because the other coin is not enabled, or because both are only
 * being enabled. Their inputs are taken and their promises renewed in the moment a coin becomes active, before an order,
 * a withdrawal or another swap can use it.
 */
export class StoredFunds {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #needs = new Map<string, Needs>();
  readonly #reservations: Holds = new Map();
  readonly #claimReservations: Holds = new Map();
  readonly #standIns: StandInGas;
  readonly #goOn: GoOn;
  /** Of what gives its nonces back later. */
  readonly #cancels = new Set<() => void>();
  readonly #renewals: WaitingRenewals;
  #isClosed = false;

  constructor(clock: Clock, log: Log, goOn: GoOn) {
    this.#goOn = goOn;
    this.#clock = clock;
    this.#log = log;
    this.#standIns = new StandInGas(log);
    this.#renewals = new WaitingRenewals(clock, log, goOn, {
      waits: (uuid) => this.#needs.has(uuid),
      renewed: (uuid, slot, state, coin) => this.#renewed(uuid, slot, state, coin),
      hasLeft: (uuid, state, coin) => this.#hasLeft(uuid, state, coin),
    });
  }

  add(uuid: string, s: SwapState): void {
    this.#needs.set(uuid, needsOf(s));
  }

  /** The swap stops running: what it has of its coins stays held for it, until one of them is replaced by another that holds it anew. */
  keepHeld(uuid: string, { own, claim }: Reserved, coin: SwapCoin, other: SwapCoin): void {
    if (own) this.#reservations.set(uuid, { coin, reservation: own });
    if (claim) this.#claimReservations.set(uuid, { coin: other, reservation: claim });
  }

  /** Takes what every stored swap needs of a coin that is about to become active. */
  take(coin: SwapCoin): void {
    for (const uuid of this.#needs.keys()) this.#standIns.release(uuid, coin.ticker);
    const own = [...this.#needs].filter(([, n]) => n.ticker === coin.ticker);
    for (const [uuid, { raws }] of own) this.#takeEach(uuid, coin, raws, (raw) => coin.lockInputs(raw));
    for (const [uuid, { changeless }] of own) this.#takeEach(uuid, coin, changeless, (raw) => coin.dropChange(raw));
    for (const [uuid, { children }] of own) this.#takeEach(uuid, coin, children, (child) => takeChild(coin, child));
    for (const [uuid, { otherTicker, claimChildren }] of this.#needs)
      if (otherTicker === coin.ticker) this.#takeEach(uuid, coin, claimChildren, (child) => takeChild(coin, child));
    const hasGas = coin.spendsFrom === "account";
    if (hasGas) this.#takeSpends(coin);
    // What the account signed for coins that are enabled later: their nonces, and what those transactions cost.
    for (const { raws, refunds, claims } of this.#needs.values()) for (const raw of [...raws, ...refunds, ...claims]) coin.lockNonce?.(raw);
    if (hasGas) for (const uuid of this.#needs.keys()) this.entrust(uuid, coin);
    this.#takeOwn(coin, own);
    this.#takeForTokens(coin);
  }

  /**
   * With another coins file a coin may be of another kind, or have another account, than what is stored was signed for. Its swap says so once it runs; the
   * coin comes all the same, for all other swaps of it.
   */
  #takeEach<T>(uuid: string, coin: SwapCoin, stored: readonly T[], take: (one: T) => void): void {
    for (const one of stored) {
      try {
        take(one);
      } catch (error) {
        this.#log.error("swap_tx_not_taken", { swap: uuid, coin: coin.ticker, error });
      }
    }
  }

  /** What is still to be paid of their own coin, and the gas beside it. */
  #takeOwn(coin: SwapCoin, own: readonly (readonly [uuid: string, needs: Needs])[]): void {
    const nowMs = this.#clock.nowMs();
    const hasGas = coin.spendsFrom === "account";
    const open = own
      .map(([uuid, { amounts, until, mayRefund, spendUntil }]) => ({
        uuid,
        amounts,
        isDue: amounts.length > 0 || (hasGas && mayRefund),
        ttlMs: (amounts.length > 0 ? until : spendUntil) * 1_000 - nowMs + 1_000,
      }))
      .filter(({ isDue, ttlMs }) => isDue && ttlMs >= 1_000)
      // Where there is too little for all, what has paid comes first: what has not may be left.
      .toSorted((a, b) => Number(a.amounts.length > 0) - Number(b.amounts.length > 0));
    for (const [uuid] of own) letGo(this.#reservations, uuid);
    coin.reserveAgain(open).forEach((reserved, i) => {
      const uuid = open[i]?.uuid;
      if (uuid === undefined) return;
      if (reserved.ok) this.#reservations.set(uuid, { coin, reservation: reserved.value });
      else this.#log.warn("swap_funds_not_reserved", { swap: uuid, coin: coin.ticker, error: reserved.error.kind });
    });
  }

  /** The swap waits: a coin that is active sees to what it has signed on its account. */
  entrust(uuid: string, coin: SwapCoin): void {
    const needs = this.#needs.get(uuid);
    if (!needs) return;
    for (const { raw, until, spend, unseen } of needs.entrusted) {
      const whereOut = async (c: SwapCoin): Promise<string | null> => (c.isOut?.(raw) ? unseen : null);
      coin.entrust?.(raw, until, spend ? this.#renewals.of(uuid, spend) : unseen === null ? null : whereOut);
    }
    if (needs.unsent) this.#giveBackLater(uuid, needs.unsent, coin);
  }

  /**
   * Nobody runs the swap: what it signed and has not sent would hold up the claims of swaps that run. The mark of what left is stored before it does, so
   * what has none can be dropped as in a swap that runs (`giveNonceBack`). That is stored first.
   */
  #giveBackLater(uuid: string, unsent: Unsent, coin: SwapCoin): void {
    const cancel = this.#clock.after(KEEPS_NONCE_SEC * 1_000, () => {
      this.#cancels.delete(cancel);
      void this.#giveBack(uuid, unsent, coin);
    });
    this.#cancels.add(cancel);
  }

  async #giveBack(uuid: string, unsent: Unsent, coin: SwapCoin): Promise<void> {
    const { slot, ticker, raws } = unsent;
    const before = this.#needs.get(uuid);
    const mayDrop = (s: SwapState): boolean => unsentOf(s)?.slot === slot && mayBeSignedAnew(coin, s.terms.role, slot, raws);
    const drop: Decide = (s) => (mayDrop(s) ? { type: "tx_dropped", slot, failure: null } : null);
    const state = before && (await this.#goOn(uuid, drop));
    const now = this.#needs.get(uuid);
    // It runs: its log says what it has.
    if (!before || !now || this.#isClosed) return;
    if (!state) return now.unsent ? this.#giveBackLater(uuid, now.unsent, coin) : undefined;
    const isDropped = state.own[slot] === undefined;
    this.#needs.set(uuid, { ...needsOf(state), dropped: isDropped && coin.ticker !== ticker ? unsent : null });
    // It left after all, and the answer to that write was lost.
    if (!isDropped) return this.entrust(uuid, coin);
    for (const raw of raws) {
      if (coin.ticker === ticker) coin.releaseInputs(raw);
      else coin.freeNonce?.(raw);
    }
    this.#takeAgain(uuid, coin);
  }

  /** What is signed anew is paid for anew. */
  #takeAgain(uuid: string, coin: SwapCoin): void {
    const needs = this.#needs.get(uuid);
    if (!needs) return;
    if ([needs.ticker, needs.otherTicker].includes(coin.ticker)) this.#standIns.release(uuid, coin.ticker);
    if (needs.ticker === coin.ticker) this.#takeOwn(coin, [[uuid, needs]]);
    this.#takeClaimGas(uuid, coin);
    this.#takeForTokens(coin);
  }

  #entrustAnew(uuid: string, before: Needs, state: SwapState, coin: SwapCoin): void {
    for (const { raw } of before.entrusted) coin.handBack?.(raw);
    this.#needs.set(uuid, { ...needsOf(state), dropped: before.dropped });
    this.entrust(uuid, coin);
  }

  /** Whoever reads the log next finds it there. @returns the version, which is entrusted from here on; null: it was already, or the swap runs */
  #renewed(uuid: string, slot: Slot, state: SwapState, coin: SwapCoin): TxVersion | null {
    const before = this.#needs.get(uuid);
    const newest = state.own[slot];
    if (!before || this.#isClosed || !newest || before.entrusted.some(({ raw }) => toHex(raw) === newest.raw)) return null;
    const held = slot === ownClaim(state.terms.role) ? this.#claimReservations.get(uuid) : undefined;
    held?.coin.useClaimGas?.(held.reservation, fromHex(newest.raw));
    this.#entrustAnew(uuid, before, state, coin);
    return newest;
  }

  #hasLeft(uuid: string, state: SwapState, coin: SwapCoin): void {
    const before = this.#needs.get(uuid);
    if (before && !this.#isClosed) this.#entrustAnew(uuid, before, state, coin);
  }

  /** Nothing comes of it any more. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }

  /** What this coin pays for tokens that are enabled later. Those that are enabled hold it themselves. */
  #takeForTokens(coin: SwapCoin): void {
    const nowMs = this.#clock.nowMs();
    const hold = (uuid: string, ticker: string, steps: TokenSteps, until: number): void => {
      const ttlMs = until * 1_000 - nowMs + 1_000;
      if (ttlMs >= 1_000) this.#standIns.take(coin, uuid, ticker, steps, ttlMs);
    };
    for (const [uuid, { ticker, otherTicker, amounts, until, mayRefund, mayClaim, spendUntil }] of this.#needs) {
      const mayPay = amounts.length > 0;
      if ((mayPay || mayRefund) && !this.#reservations.has(uuid))
        hold(uuid, ticker, { payments: amounts.length, refund: true, claim: false }, mayPay ? until : spendUntil);
      if (mayClaim && !this.#claimReservations.has(uuid)) hold(uuid, otherTicker, { payments: 0, refund: false, claim: true }, spendUntil);
    }
  }

  /** On account chains claims and refunds have a nonce, and their gas comes from the account. */
  #takeSpends(coin: SwapCoin): void {
    for (const [uuid, { ticker, otherTicker, refunds, claims }] of this.#needs) {
      if (ticker === coin.ticker) this.#takeEach(uuid, coin, refunds, (raw) => coin.lockInputs(raw));
      if (otherTicker === coin.ticker) this.#takeEach(uuid, coin, claims, (raw) => coin.lockInputs(raw));
      this.#takeClaimGas(uuid, coin);
    }
  }

  #takeClaimGas(uuid: string, coin: SwapCoin): void {
    const needs = this.#needs.get(uuid);
    if (!needs?.mayClaim || needs.otherTicker !== coin.ticker) return;
    letGo(this.#claimReservations, uuid);
    const reserved = coin.reserveClaimAgain(Math.max(1_000, needs.spendUntil * 1_000 - this.#clock.nowMs()));
    if (!reserved.ok) this.#log.warn("swap_funds_not_reserved", { swap: uuid, coin: coin.ticker, error: reserved.error.kind });
    else if (reserved.value) this.#claimReservations.set(uuid, { coin, reservation: reserved.value });
  }

  /**
   * The swap runs: its funds are its own from here on.
   * @param state as it is taken up, whose log counts: what never left may be dropped there though that was not answered
   */
  handOver(uuid: string, coin: SwapCoin, other: SwapCoin, state: SwapState): Reserved {
    for (const { ticker } of [coin, other]) this.#standIns.release(uuid, ticker);
    this.#freeDropped(uuid, coin, other, state);
    const [own = null, claim = null] = [this.#reservations.get(uuid)?.reservation, this.#claimReservations.get(uuid)?.reservation];
    for (const { raw } of this.#needs.get(uuid)?.entrusted ?? []) for (const c of [coin, other]) c.handBack?.(raw);
    this.#needs.delete(uuid);
    this.#renewals.forget(uuid);
    this.#reservations.delete(uuid);
    this.#claimReservations.delete(uuid);
    if (own) coin.adopt(own);
    if (claim) other.adopt(claim);
    return { own, claim };
  }

  /** Nobody sends them, gives them up or fills their nonces once the swap runs: the account would stand still behind them. */
  #freeDropped(uuid: string, coin: SwapCoin, other: SwapCoin, state: SwapState): void {
    const before = this.#needs.get(uuid);
    if (!before) return;
    const gone = [before.unsent, before.dropped].filter((tx) => tx !== null && state.own[tx.slot] === undefined);
    if (gone.length === 0) return;
    for (const tx of gone) for (const raw of tx?.raws ?? []) (tx?.ticker === coin.ticker ? coin : other).releaseInputs(raw);
    const needs = { ...needsOf(state), entrusted: before.entrusted };
    this.#needs.set(uuid, needs);
    if (needs.amounts.length > 0) this.#takeOwn(coin, [[uuid, needs]]);
    if (!this.#claimReservations.has(uuid)) this.#takeClaimGas(uuid, other);
  }
}
