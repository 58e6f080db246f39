import { contractOf } from "../../src/app/swap/contracts.ts";
import type { OwnSignedTx, SwapCoin } from "../../src/app/swap/swapCoin.ts";
import { signEnvelope } from "../../src/core/message/envelope.ts";
import { encodeSwapMessage } from "../../src/core/message/swapMessage.ts";
import type { SwapMessage } from "../../src/core/message/types.ts";
import { ownPayment, type PaymentSlot, type SwapEvent, theirPayment } from "../../src/core/swap/events.ts";
import type { SwapState } from "../../src/core/swap/swapState.ts";
import { deadlinesOf } from "../../src/core/swap/timelocks.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import type { Move } from "./cell.ts";
import type { MatrixNode } from "./matrixNode.ts";
import { GIVES, type MatrixWorld } from "./matrixWorld.ts";
import { familyOf, type Ticker } from "./pairs.ts";

/** What a villain pays to be first, base units; wei on an account chain. */
const FEE = 2_000_000n;
const GAS_FEE = 10n ** 17n;
/** A late claim leaves so long before the victim's refund could. */
const LAST_MOMENT_SEC = 60;
/** A refund that is not in the air so long after it could be will not come soon. */
const OVERDUE_SEC = 90;
const LOOK_MS = 1_000;
const WRONG_MESSAGES = 6;
const WRONG_EVERY_MS = 15_000;

/**
 * The other side with bad intentions, beginning at the crash.
 * - `late`: makes its own payment if it has not, then claims at the last moment only, and takes its own payment back as early as that is
 *   valid (a taker as soon as it knows the secret, too), paying more than the victim and with miners that prefer it.
 * - `double_spend`: goes on as if honest, but whatever fee or payment of its own is in no block is replaced by a spend to itself.
 * - `wrong`: sends transactions that are not what was agreed, and bytes that are none, in place of what is due.
 */
export class Villain {
  readonly #world: MatrixWorld;
  readonly #node: MatrixNode;
  readonly #move: Move;
  readonly #doubled = new Set<string>();
  #isOff = false;
  #secret: Uint8Array | null = null;
  #refund: OwnSignedTx | null = null;
  #claim: OwnSignedTx | null = null;

  constructor(world: MatrixWorld, node: MatrixNode, move: Move) {
    this.#world = world;
    this.#node = node;
    this.#move = move;
  }

  async begin(): Promise<void> {
    if (!this.#node.isUp) await this.#node.start(this.#move === "double_spend");
    if (this.#isOff) return;
    if (this.#move === "wrong") {
      this.#node.goRogue();
      this.#sendWrong(WRONG_MESSAGES);
      return;
    }
    this.#look();
  }

  off(): void {
    this.#isOff = true;
  }

  #look(): void {
    if (this.#isOff || !this.#node.isUp) return;
    if (this.#move === "late") this.#beLate();
    else this.#doubleSpend();
    this.#world.clock.after(LOOK_MS, () => this.#look());
  }

  #fee(ticker: Ticker): bigint {
    return familyOf(this.#world.pair, ticker) === "UTXO" ? FEE : GAS_FEE;
  }

  #doubleSpend(): void {
    const ticker = GIVES[this.#node.role];
    const own = this.#node.state?.own ?? {};
    for (const slot of ["fee", ownPayment(this.#node.role)] as const) {
      const tx = own[slot];
      if (!tx || this.#doubled.has(slot) || !this.#world.chain(ticker).isWaiting(tx.txid)) continue;
      const conflict = this.#node.coin(ticker).buildCancel(fromHex(tx.raw));
      if (!conflict.ok) continue;
      this.#doubled.add(slot);
      this.#world.chain(ticker).force(conflict.value.raw);
    }
  }

  #beLate(): void {
    const s = this.#node.state;
    if (!s?.negotiated) return;
    const paid = s.own[ownPayment(this.#node.role)];
    // Before it has paid there is nothing to win.
    if (!paid?.attempted && this.#node.isTrading) return;
    if (!paid || !this.#isKnown(GIVES[this.#node.role], paid.txid)) return;
    if (this.#node.isTrading) this.#node.goRogue();
    this.#follow(s);
    this.#takeBack(s);
    this.#claimLate(s);
  }

  #isKnown(ticker: Ticker, txid: string): boolean {
    const chain = this.#world.chain(ticker);
    return chain.depth(txid) > 0 || chain.isWaiting(txid);
  }

  /** Without its engine nobody has the payments of an account chain looked at. */
  #follow(s: SwapState): void {
    for (const slot of ["makerPayment", "takerPayment"] as const) {
      const ticker: Ticker = slot === "makerPayment" ? "AAA" : "BBB";
      if (familyOf(this.#world.pair, ticker) === "UTXO") continue;
      const coin = this.#node.coin(ticker);
      void coin.chain.watchScript(coin.contractScript(contractOf(s, slot)), 0);
    }
  }

  #takeBack(s: SwapState): void {
    const slot = ownPayment(this.#node.role);
    const ticker = GIVES[this.#node.role];
    const leg = this.#world.leg(ticker);
    const paid = s.own[slot];
    const contract = contractOf(s, slot);
    if (!paid || !leg.isOpen(paid.txid) || leg.chain.lockTimeSec() <= contract.lock) return;
    // A taker that does not know the secret yet wins nothing by its refund: a maker that claims too late gives it both.
    const isPatient =
      this.#node.role === "taker" && this.#secretOf(s) === null && this.#world.clock.nowMs() / 1_000 < deadlinesOf(s).makerLock;
    if (isPatient) return;
    this.#refund ??= built(this.#node.coin(ticker).buildRefund({ contract, payment: fromHex(paid.raw), fee: this.#fee(ticker) }));
    if (this.#refund && !this.#isKnown(ticker, this.#refund.txid)) leg.chain.force(this.#refund.raw);
  }

  #claimLate(s: SwapState): void {
    const slot = theirPayment(this.#node.role);
    const ticker: Ticker = this.#node.role === "maker" ? "BBB" : "AAA";
    const coin = this.#node.coin(ticker);
    const leg = this.#world.leg(ticker);
    const contract = contractOf(s, slot);
    const output = coin.chain.outputs(coin.contractScript(contract)).find((o) => o.vout === 0);
    const payment = s.facts[slot]?.raw ?? s.received[slot]?.raw ?? (output && toHex(coin.chain.tx(output.txid)?.raw ?? new Uint8Array()));
    const secret = this.#secretOf(s);
    if (!payment || !secret || !output || !leg.isOpen(output.txid)) return;
    const lock = this.#node.role === "maker" ? deadlinesOf(s).takerLock : deadlinesOf(s).makerLock;
    if (this.#world.clock.nowMs() / 1_000 < lock - LAST_MOMENT_SEC) return;
    // The maker may wait even longer, until the refund is in the air: nothing but a claim shows the secret.
    const isRefunding = leg.endWaiting(output.txid);
    const isOverdue = leg.chain.lockTimeSec() > contract.lock + OVERDUE_SEC;
    if (this.#node.role === "maker" && !isRefunding && !isOverdue) return;
    this.#claim ??= built(coin.buildClaim({ contract, payment: fromHex(payment), secret, fee: this.#fee(ticker) }));
    if (this.#claim && !this.#isKnown(ticker, this.#claim.txid)) leg.chain.force(this.#claim.raw);
  }

  /** The maker made it; the taker reads it from whatever claim it ever saw. */
  #secretOf(s: SwapState): Uint8Array | null {
    const { role, startedAt, secretSalt } = s.terms;
    if (role === "maker") return this.#node.deriveSecret(startedAt, secretSalt ?? 0);
    if (this.#secret) return this.#secret;
    const paid = s.own.takerPayment;
    const hash = fromHex(s.negotiated?.secretHash ?? "");
    const raw = paid ? this.#world.leg("BBB").endBytes(paid.txid) : null;
    this.#secret = s.secret ? fromHex(s.secret) : raw ? this.#node.coin("BBB").findSecret({ txid: "", raw }, hash) : null;
    return this.#secret;
  }

  #sendWrong(left: number): void {
    if (left === 0 || this.#isOff) return;
    const s = this.#node.state;
    const own = s?.own[ownPayment(this.#node.role)]?.raw ?? s?.own.fee?.raw;
    // Some transaction of the chain that is none of what is due, the own one with its last byte changed, and bytes that are none.
    const other = this.#world.chain(GIVES[this.#node.role]).strange();
    const changed = own ? fromHex(own).map((b, i, all) => (i === all.length - 1 ? b ^ 1 : b)) : other;
    for (const data of [changed, other, new Uint8Array(200).fill(0x5a)]) {
      const messages: SwapMessage[] =
        this.#node.role === "maker"
          ? [{ type: "MakerPayment", tx: { data } }]
          : [
              { type: "TakerFee", tx: { data } },
              { type: "TakerPayment", tx: data },
            ];
      for (const m of messages) this.#node.publish(signEnvelope(encodeSwapMessage(m), this.#node.key.secret.reveal()));
    }
    this.#world.clock.after(WRONG_EVERY_MS, () => this.#sendWrong(left - 1));
  }
}

/** What the coin signed; null while it cannot. */
const built = (made: ReturnType<SwapCoin["buildClaim"]>): OwnSignedTx | null => (made.ok ? made.value : null);

/** Moves that can do harm from this point on, by the peer's state in an undisturbed run. */
export function movesAt(road: string, peer: SwapState | null, victim: SwapState | null): readonly Move[] {
  if (road === "alone" || !peer || !victim) return ["wrong"];
  const isPaidDeep = peer.facts[ownPayment(peer.terms.role)]?.confirmed === true;
  const slot: PaymentSlot = theirPayment(victim.terms.role);
  const isAwaited = !victim.received[slot] && !victim.facts[slot] && road === "straight";
  return [
    "late",
    ...(!isPaidDeep && road !== "refund" && road !== "late" ? (["double_spend"] as const) : []),
    ...(isAwaited ? (["wrong"] as const) : []),
  ];
}

/** Whether an event is the peer's cue to begin: its payment may be known to others. */
export const hasPaid = (role: "maker" | "taker", e: SwapEvent): boolean => e.type === "tx_attempted" && e.slot === ownPayment(role);
