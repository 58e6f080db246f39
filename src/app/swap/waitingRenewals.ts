import { type ClaimView, claimStays } from "../../core/swap/claimStays.ts";
import type { Slot, StoredEvent, SwapEvent } from "../../core/swap/events.ts";
import { FIRST_LOOK_SEC, refundStays } from "../../core/swap/refundStays.ts";
import { mayShowSecret, type SwapState, type TxVersion } from "../../core/swap/swapState.ts";
import { fromHex, toHex } from "../../core/util/bytes.ts";
import { OneByOne } from "../../core/util/oneByOne.ts";
import { type Clock, steadyTime, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { Repeater } from "./repeater.ts";
import type { Spend } from "./storedNeeds.ts";
import type { OwnSignedTx, SwapCoin } from "./swapCoin.ts";
import { isEarly, isTriedAllTheSame, nextSpend, waitingRefundView, waitingView, waitsForLine } from "./waitingSpends.ts";

/** A look at the chain every half minute is what makes transactions of running swaps dearer. */
const RENEW_MS = 30_000;
/** Of a question to the nodes. */
const TRY_MS = 10_000;

/** What happens to a stored swap, by its log; null: nothing. */
export type Decide = (
  s: SwapState,
  log: readonly StoredEvent[],
) => Extract<SwapEvent, { readonly type: "tx_dropped" | "tx_replaced" | "tx_seen" }> | null;

/** Stores what is decided about a swap that waits, by its log. @returns its state then; null: it runs, or nothing was stored */
export type GoOn = (uuid: string, decide: Decide) => Promise<SwapState | null>;

/** Who keeps the funds of the swaps that wait. */
export type Keeping = {
  readonly waits: (uuid: string) => boolean;
  /** @returns the newest version by the log, which is entrusted from here on; null: it was already, or the swap waits no more */
  readonly renewed: (uuid: string, slot: Slot, state: SwapState, coin: SwapCoin) => TxVersion | null;
  /** Somebody has the secret, as the log says now. */
  readonly hasLeft: (uuid: string, state: SwapState, coin: SwapCoin) => void;
};

/**
 * What swaps on account chains that wait for their other coin do with their claims, refunds and cancellations: at each block it is judged whether they may
 * leave (`claimStays`, `refundStays`), and made dearer, or anew, where a running swap would.
 */
export class WaitingRenewals {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #goOn: GoOn;
  readonly #kept: Keeping;
  /** Two spends of one swap would write to its log at once: only the first could, each time. */
  readonly #turns = new OneByOne();
  readonly #steadyMs: () => number;
  /** By swap, since when its account looks at what it has of the claim beside a refund. */
  readonly #lookingSinceMs = new Map<string, number>();

  constructor(clock: Clock, log: Log, goOn: GoOn, kept: Keeping) {
    this.#clock = clock;
    this.#steadyMs = steadyTime(clock);
    this.#log = log;
    this.#goOn = goOn;
    this.#kept = kept;
  }

  /** For `SwapCoin.entrust`: gas may rise while the swap waits, and its deadline comes; whatever is later of the account waits behind, too. */
  of(uuid: string, spend: Spend): (coin: SwapCoin) => Promise<string | null> {
    let looks = new Repeater(this.#clock);
    const [newest = null] = spend.txids.slice(-1);
    let mayLeave = newest;
    return async (coin) => {
      const { slot, raws, showsSecret } = spend;
      const hasLeft = showsSecret && raws.some((raw) => coin.hasLeft?.(raw));
      const mayGo = showsSecret && !hasLeft ? await this.#isPayable(spend, coin) : this.#isUnpaid(uuid, spend, coin);
      if (!mayGo) {
        // Once it may, it is taken back at once.
        looks = new Repeater(this.#clock);
        return null;
      }
      if (!this.#kept.waits(uuid) || !looks.isDue(RENEW_MS)) return hasLeft ? newest : mayLeave;
      // Nor does it leave early where judging it fails, as while no prices are known.
      mayLeave = !hasLeft && isEarly(spend, this.#clock.nowMs()) ? null : newest;
      try {
        if (hasLeft) await this.#turns.run(() => this.#noteLeft(uuid, spend, coin));
        else mayLeave = await this.#renewOrGiveUp(uuid, spend, coin);
      } catch (error) {
        this.#log.warn("swap_spend_not_renewed", { swap: uuid, coin: coin.ticker, slot, error });
      }
      return mayLeave;
    };
  }

  /**
   * Whether a claim that nobody was seen to have may be sent as far as the payments go (`claimStays`): where that has gone, to send it, or to ask about it,
   * would show the secret for nothing. Until the payment is back, or while nobody says, it holds up nothing.
   */
  async #isPayable(spend: Spend, coin: SwapCoin): Promise<boolean> {
    const view = waitingView(spend, this.#clock.nowMs());
    const [newest] = spend.raws.slice(-1);
    const ask = async (signal: AbortSignal): Promise<boolean | null> => (newest && coin.isClaimable?.(newest, signal)) ?? null;
    const isThere = view.isOursReturnable ? null : await withDeadline(this.#clock, TRY_MS, undefined, ask).catch(() => null);
    const stays = claimStays({ ...view, theirs: isThere === null ? "unknown" : isThere ? "there" : "gone" });
    if (stays !== null) for (const raw of spend.raws) if (coin.holdsUp?.(raw)) coin.giveUp?.(raw, true);
    return stays === null;
  }

  /** Whether a refund may be sent as far as the own claim goes (`refundStays`): while a block has that, it holds up nothing. */
  #isUnpaid(uuid: string, spend: Spend, coin: SwapCoin): boolean {
    if (spend.claim === null) return true;
    const nowMs = this.#steadyMs();
    const sinceMs = this.#lookingSinceMs.get(uuid) ?? nowMs;
    if (this.#kept.waits(uuid)) this.#lookingSinceMs.set(uuid, sinceMs);
    const stays = refundStays(waitingRefundView(spend, coin, nowMs - sinceMs < FIRST_LOOK_SEC * 1_000));
    if (stays === "paid") for (const raw of spend.raws) coin.giveUp?.(raw, true);
    return stays === null;
  }

  /** The swap waits no more. */
  forget(uuid: string): void {
    this.#lookingSinceMs.delete(uuid);
  }

  /** @returns the id of the version that may leave; null: none, for it would bring nothing, and its secret is nobody's but ours */
  async #renewOrGiveUp(uuid: string, spend: Spend, coin: SwapCoin): Promise<string | null> {
    const { slot, raws, txids, showsSecret } = spend;
    const [newest] = raws.slice(-1);
    const [before = null] = txids.slice(-1);
    const missed = newest && coin.hasMissed?.(newest) ? toHex(newest) : null;
    // A cancellation is for its nonce alone.
    if (missed !== null && slot === "cancel") return before;
    const isHopeless = newest ? await this.#isHopeless(newest, showsSecret, coin) : null;
    const payout = isHopeless === null ? "unknown" : isHopeless ? "refused" : "paid";
    const view = (): ClaimView => ({ ...waitingView(spend, this.#clock.nowMs()), payout });
    const staysHome = showsSecret && claimStays(view()) !== null;
    for (const raw of raws) {
      // What nobody has is filled at once; what left may come back.
      if (staysHome || isHopeless) coin.giveUp?.(raw, showsSecret && coin.holdsUp?.(raw) === true);
      else coin.takeBack?.(raw);
    }
    if (staysHome) return null;
    // One that has missed its nonce may have been carried out all the same, in a version that nobody shows: then the chain refuses it.
    const isFit = missed === null ? !isHopeless : isHopeless === false;
    if (missed !== null && waitsForLine(spend, coin, this.#clock.nowMs())) return null;
    const made = await this.#turns.run(() => this.#renew(uuid, spend, coin, missed, !isFit));
    const last = made ? fromHex(made.raw) : newest;
    if (!showsSecret || !last) return made?.txid ?? before;
    // It may be made anew once the account can pay for enough.
    const isSlow = view().isEarly && (coin.spendTooDear() ?? coin.claimObstacle(last)) !== null;
    const isShort = coin.lacksGas?.(last) === true && (view().isEarly || (await this.#isSurelyShort(last, coin)));
    if (claimStays({ ...view(), isSlow, isShort }) === null) return made?.txid ?? before;
    for (const raw of [...raws, last]) if (coin.holdsUp?.(raw)) coin.giveUp?.(raw, true);
    return null;
  }

  /**
   * Nobody sees whether the payment was spent or went back while its swap waits: what would fail is not paid dearly, and holds up nothing. It counts again
   * when it would not.
   * @returns null: nobody says
   */
  async #isHopeless(newest: Uint8Array, showsSecret: boolean, coin: SwapCoin): Promise<boolean | null> {
    if (!coin.isHopeless) return null;
    const trying = withDeadline(this.#clock, TRY_MS, undefined, async (s) => coin.isHopeless?.(newest, showsSecret, s) ?? null);
    return trying.catch(() => null);
  }

  /** Whether a claim past its limit would fail for want of gas, enough nodes saying so. */
  async #isSurelyShort(claim: Uint8Array, coin: SwapCoin): Promise<boolean> {
    const asking = withDeadline(this.#clock, TRY_MS, undefined, async (s) => (await coin.isSurelyShort?.(claim, s)) === true);
    return asking.catch(() => false);
  }

  /** Whether a block has one of these, and carried it out. */
  async #wentThrough(txids: readonly string[], { chain }: SwapCoin): Promise<boolean> {
    const watching = withDeadline(this.#clock, TRY_MS, undefined, (signal) => Promise.all(txids.map((id) => chain.watchTx(id, 0, signal))));
    await watching.catch(() => undefined);
    return txids.some((id) => {
      const seen = chain.tx(id);
      return seen?.block != null && !seen.failed;
    });
  }

  /** Somebody has the secret: the claim goes on as any other, also after a start, when nodes and pools may tell nothing of it any more. */
  async #noteLeft(uuid: string, { slot, txids }: Spend, coin: SwapCoin): Promise<void> {
    const [newest = ""] = txids.slice(-1);
    const txid = txids.find((id) => coin.chain.tx(id)) ?? newest;
    const state = await this.#goOn(uuid, (s) => (mayShowSecret(s) ? { type: "tx_seen", slot, txid, raw: "", block: null } : null));
    if (state) this.#kept.hasLeft(uuid, state, coin);
  }

  /** What is stored comes first. @returns the version that was made; null: none was */
  async #renew(
    uuid: string,
    { slot, txids }: Spend,
    coin: SwapCoin,
    missed: string | null,
    isHopeless: boolean,
  ): Promise<TxVersion | null> {
    const nowSec = (): number => Math.floor(this.#clock.nowMs() / 1_000);
    if (isHopeless) {
      let isTried = false;
      await this.#goOn(uuid, (s, log) => {
        isTried = isTriedAllTheSame(s, log, slot, nowSec());
        return null;
      });
      // Of the versions before a start only the newest is followed.
      if (!isTried || (missed !== null && (await this.#wentThrough(txids, coin)))) return null;
    }
    let built: OwnSignedTx | null = null;
    const state = await this.#goOn(uuid, (s, log) => {
      built = nextSpend(s, log, slot, coin, nowSec(), missed);
      return built && { type: "tx_replaced", slot, txid: built.txid, raw: toHex(built.raw), fee: built.fee.toString() };
    });
    const made = built as OwnSignedTx | null;
    // The answer to the write may be lost: whoever reads the log next finds it there.
    if (!state && made) coin.releaseInputs(made.raw);
    return state && this.#kept.renewed(uuid, slot, state, coin);
  }
}
