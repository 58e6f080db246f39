import { hkdfSync } from "node:crypto";
import { chainOf, depthOf } from "../../src/app/swap/contracts.ts";
import type { Slot, StoredEvent } from "../../src/core/swap/events.ts";
import { isChildSlot, ownClaim, ownPayment, ownRefund, theirPayment } from "../../src/core/swap/events.ts";
import { versionsOf } from "../../src/core/swap/swapState.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import type { BroadcastOutcome } from "../../src/ports/chain.ts";
import type { SqlStatement } from "../../src/ports/sql.ts";
import type { SimWorld } from "../world/simWorld.ts";
import { accountFacts, type ChainFacts, isFiller, utxoFacts } from "./chainFacts.ts";
import { ENVELOPE } from "./envelope.ts";
import { HeldUp } from "./heldUp.ts";
import { chainTickerOf } from "./simAccounts.ts";
import { accountTxsOf, SwapBook, type SwapRecord, type SwapSide } from "./swapBook.ts";

/** Rules of docs/safety.md. */
export const RULES = [
  "funds",
  "deadline",
  "secret",
  "in order",
  "not both",
  "in time",
  "stored first",
  "truth",
  "one output",
  "one nonce",
  "one fee",
  "conservation",
  "ends",
  "named",
  "funded",
  "undisturbed",
  "caught up",
] as const;
export type Rule = (typeof RULES)[number];

export type Violation = { readonly rule: Rule; readonly text: string; readonly uuid: string | null; readonly atMs: number };

/** The maker's secret as design D5 has it, reckoned apart from the product: HKDF-SHA256, info "maker secret", start (u64), salt (u8). */
function secretOf(key: Uint8Array, startedAt: number, salt: number): Buffer {
  const info = Buffer.concat([Buffer.from("maker secret"), Buffer.alloc(8), Buffer.from([salt])]);
  info.writeBigUInt64BE(BigInt(startedAt), info.length - 9);
  return Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), info, 32));
}

/** Limits of docs/safety-policy.md in unix seconds, reckoned apart from the product. L: the lock of the taker payment. */
function limitsOf({ role, terms, state }: SwapSide): { readonly payBy: number; readonly revealBy: number } {
  const { startedAt, lockDurationSec, safety } = terms;
  const takerStart = role === "taker" ? startedAt : (state.negotiated?.theirStartedAt ?? startedAt);
  const margin = Math.max(lockDurationSec / 5 - Math.abs(takerStart - startedAt), safety?.revealMarginSec ?? 0);
  return {
    payBy: startedAt + (role === "maker" ? lockDurationSec / 3 : (lockDurationSec * 2) / 5),
    revealBy: takerStart + lockDurationSec - margin,
  };
}

/** Violations kept; the first are what counts. */
const MAX_VIOLATIONS = 50;

/** Checks the rules while a run goes on: at every stored event, every broadcast, every block. */
export class Watch {
  readonly book = new SwapBook();
  readonly violations: Violation[] = [];
  /** Checks made, by rule: a rule that was never tested proves nothing. */
  readonly checks = new Map<Rule, number>();
  /** Called with a swap when each of its sides is stored: a fault may last at the second node already, which the first says nothing of. */
  onSwap: (swap: SwapRecord) => void = () => undefined;
  /** Called when a side has agreed on its contracts. */
  onNegotiated: (swap: SwapRecord, side: SwapSide) => void = () => undefined;
  /** Payments to contracts by strangers, and by whoever mines them: nothing of them is in anybody's books. */
  readonly strangers = new Set<string>();
  readonly #world: SimWorld;
  /** Outputs spent by transactions that left a node, by the swap. */
  readonly #spentBy = new Map<string, { readonly owner: SwapRecord | string; readonly txid: string; readonly raw: string }>();
  /** Transactions of account chains that belong to no swap, such as approvals: the node whose disk has them, by their bytes in hex. */
  readonly #accountTxs = new Map<string, string>();
  /** Those of them that some node may have taken, by their bytes in hex. */
  readonly #maybeOut = new Set<string>();
  /** Those of nodes whose disk was put back: they do not know of what was sent since. */
  readonly #restored = new Set<string>();
  readonly #facts = new Map<string, ChainFacts>();
  readonly #heldUp: HeldUp;
  /** Ids of transactions that left before. */
  readonly #sent = new Set<string>();
  /** Those that their chain had then, or that the other side was told of. */
  readonly #out = new Set<string>();
  readonly #revealed = new Set<string>();
  readonly #feeOf = new Map<string, Set<string>>();
  /** Secrets of makers by swap. */
  readonly #secrets = new Map<string, Buffer>();
  /** The swap that has a secret, by its hash. */
  readonly #swapOfHash = new Map<string, SwapRecord>();

  constructor(world: SimWorld) {
    this.#world = world;
    this.#heldUp = new HeldUp(world, (ticker) => this.facts(ticker));
    for (const [ticker, sim] of world.chains) this.#facts.set(ticker, utxoFacts(sim));
    for (const [ticker, chain] of world.accountChains) this.#facts.set(ticker, accountFacts(chain));
  }

  /** What the chain of a coin says. */
  facts(ticker: string): ChainFacts {
    const facts = this.#facts.get(chainTickerOf(ticker));
    if (!facts) throw new Error(`no chain ${ticker}`);
    return facts;
  }

  /** Whether these bytes are on some disk, as a swap's or an account's. */
  isStored(raw: string): boolean {
    return this.book.signed.has(raw) || this.#accountTxs.has(raw);
  }

  violate(rule: Rule, text: string, uuid: string | null = null): void {
    if (this.violations.length < MAX_VIOLATIONS) this.violations.push({ rule, text, uuid, atMs: this.#world.clock.nowMs() });
  }

  checked(rule: Rule): void {
    this.checks.set(rule, (this.checks.get(rule) ?? 0) + 1);
  }

  onStored(node: string, batch: readonly SqlStatement[]): void {
    for (const raw of accountTxsOf(batch)) this.#accountTxs.set(raw, node);
    for (const { swap, side, event } of this.book.onStored(node, batch, this.#world.clock.nowMs())) {
      if (event.type === "started") this.#started(swap, side);
      if (event.type === "negotiated") this.onNegotiated(swap, side);
      if (event.type === "finished") this.checkStatus(swap, side);
    }
  }

  onRestored(node: string, logs: Parameters<SwapBook["onRestored"]>[1]): void {
    this.#restored.add(accountOf(node));
    this.book.onRestored(node, logs);
  }

  #started(swap: SwapRecord, side: SwapSide): void {
    const { terms } = side;
    this.onSwap(swap);
    if (terms.secretSalt !== null) this.#checkSecret(swap, side, terms.secretSalt);
    const lockMs = (terms.startedAt + 2 * terms.lockDurationSec) * 1_000 + ENVELOPE.clockErrorMs;
    this.#world.clock.after(Math.max(0, lockMs + ENVELOPE.freeAfterLockMs - this.#world.clock.nowMs()), () => this.#checkFree(swap, side));
  }

  /** Rule "secret": the seed and the log find it again, nothing others know leads to it, and no two swaps have the same. */
  #checkSecret(swap: SwapRecord, { node, terms }: SwapSide, salt: number): void {
    this.checked("secret");
    const secret = secretOf(this.#world.node(node).key.secret.reveal(), terms.startedAt, salt);
    this.#secrets.set(swap.uuid, secret);
    const hash = terms.secretHash ?? "";
    if (hash !== toHex(hash160(secret))) this.violate("secret", `${node}'s secret is not the one of its key, start and salt`, swap.uuid);
    const other = this.#swapOfHash.get(hash);
    if (other && other.uuid !== swap.uuid && other.outside.size + swap.outside.size === 0)
      this.violate("secret", `${node} uses the secret of swap ${other.uuid} again`, swap.uuid);
    this.#swapOfHash.set(hash, swap);
  }

  /** Rule "deadline": hours after the maker's lock no payment of a swap is still in its contract. */
  #checkFree(swap: SwapRecord, side: SwapSide): void {
    if (swap.outside.size > 0) return;
    this.checked("deadline");
    const slot = ownPayment(side.role);
    const { txid } = side.state.facts[slot] ?? side.state.own[slot] ?? {};
    if (txid === undefined || !this.#factsOf(side, slot).isLocked(txid)) return;
    this.violate(
      "deadline",
      `${side.node}'s ${slot} ${txid} is still locked ${ENVELOPE.freeAfterLockMs / 60_000} min after the maker's lock`,
      swap.uuid,
    );
  }

  #factsOf(side: SwapSide, slot: Slot): ChainFacts {
    const { makerCoin, takerCoin } = side.terms;
    return this.facts(chainOf(side.role, slot) === "maker" ? makerCoin : takerCoin);
  }

  /** Blocks over a transaction by the chain itself, its own included; 0: in none, or it failed there. */
  depth(side: SwapSide, slot: Slot, txid: string): number {
    return this.#factsOf(side, slot).depth(txid);
  }

  /** Rule "truth": what a finished side says is what its chain says. */
  checkStatus(swap: SwapRecord, side: SwapSide): void {
    if (swap.misled.has(side.node)) return;
    this.checked("truth");
    const { state, role } = side;
    const wrong = (text: string): void => this.violate("truth", `${side.node} says ${state.finished}, but ${text}`, swap.uuid);
    const stands = (slot: Slot): boolean => {
      const txid = state.facts[slot]?.txid;
      return txid !== undefined && this.depth(side, slot, txid) > 0;
    };
    if (state.finished === "success" && !stands(ownClaim(role))) wrong("its claim is in no block");
    if (state.finished === "refunded" && !stands(ownRefund(role))) wrong("its refund is in no block");
    // On an account chain a payment that failed in its block has cancelled itself.
    const cancel = state.facts.cancel;
    if (state.finished === "cancelled" && !(cancel && this.#factsOf(side, "cancel").blockOf(cancel.txid)))
      wrong("nothing that cancels its payment is in a block");
    if (state.finished === "lost") {
      if (stands(ownClaim(role))) wrong("its claim is in a block");
      for (const slot of [ownPayment(role), theirPayment(role)])
        if (this.book.signedFor(swap.uuid, slot).some((id) => this.#factsOf(side, slot).isLocked(id))) wrong(`the ${slot} is still there`);
    }
    if (state.finished === "failed") {
      const txid = state.own[ownPayment(role)]?.txid;
      if (txid !== undefined && this.depth(side, ownPayment(role), txid) > 0) wrong(`its payment ${txid} is in a block`);
    }
  }

  /** A node hands a transaction to a daemon. */
  onBroadcast(node: string, ticker: string, raw: string): void {
    this.checked("stored first");
    const signed = this.book.signed.get(raw);
    if (!signed && this.#accountTxs.get(raw) === node) {
      const { txid } = this.facts(ticker).read(raw) ?? { txid: "" };
      this.#checkSpends(accountOf(node), "transaction", ticker, raw, txid);
      return;
    }
    if (!signed) {
      // The other side's payment, seen in a block that is gone, is offered again.
      if (this.strangers.has(this.facts(ticker).read(raw)?.txid ?? "")) return;
      this.violate("stored first", `${node} sends a transaction of ${ticker} that no disk has: ${raw.slice(0, 80)}…`);
      return;
    }
    if (signed.node !== node) return;
    const swap = this.book.swaps.get(signed.uuid);
    const side = swap && Object.values(swap.sides).find((s) => s.node === node);
    if (!swap || !side) return;
    if (signed.slot === "takerPaymentSpend") this.#checkReveal(swap, side);
    else if (side.role === "maker") this.#checkSilent(swap, raw, signed.slot);
    if (!this.#out.has(signed.txid)) this.#checkLimits(swap, side, signed.slot, raw);
    this.#checkInputs(swap, signed.slot, ticker, raw, signed.txid);
    this.#sent.add(signed.txid);
  }

  /**
   * What became of a broadcast. An account's own transaction that all nodes refused, each time it was sent, was never out: another
   * may have its nonce.
   */
  onAnswer(node: string, ticker: string, raw: string, outcome: BroadcastOutcome["kind"] | undefined): void {
    const signed = this.book.signed.get(raw);
    if (signed && this.facts(ticker).has(signed.txid)) this.#out.add(signed.txid);
    if (this.#accountTxs.get(raw) !== node || this.book.signed.has(raw)) return;
    if (outcome !== "rejected") this.#maybeOut.add(raw);
    if (this.#maybeOut.has(raw)) return;
    const tx = this.facts(ticker).read(raw);
    for (const point of tx?.spends ?? []) if (this.#spentBy.get(point)?.txid === tx?.txid) this.#spentBy.delete(point);
  }

  /**
   * Rule "secret": the maker shows it only when the taker's payment stands as deep as agreed and there is time left. Whether it stands is asked until
   * the chain has a claim, but of what is seen through servers or account nodes: those who were given one and kept it have the secret (ADR 37); and
   * not while a daemon is away, which hears of none.
   */
  #checkReveal(swap: SwapRecord, side: SwapSide): void {
    const isFirst = !this.#revealed.has(swap.uuid);
    this.#revealed.add(swap.uuid);
    const { takerCoin } = side.terms;
    const node = this.#world.node(side.node);
    const hasDaemon = this.facts(takerCoin).kind === "utxo" && node.serverLine(takerCoin) === undefined;
    const isAway = node.node.coins.active(takerCoin)?.chain.status().state !== "ready";
    const claim = side.state.own.takerPaymentSpend;
    const chainHas = (txid: string): boolean => this.#out.has(txid) || this.depth(side, "takerPaymentSpend", txid) > 0;
    const isOut = claim !== undefined && versionsOf(claim).some(({ txid }) => chainHas(txid));
    if (!isFirst && (!hasDaemon || isAway || isOut)) return;
    this.checked("secret");
    const early = (text: string): void => this.violate("secret", `${side.node} reveals the secret of the swap although ${text}`, swap.uuid);
    const wrong = swap.misled.has(side.node) ? null : this.#unfit(side, "takerPayment");
    if (wrong !== null) early(wrong);
    if (!isFirst) return;
    const limit = limitsOf(side).revealBy;
    const lateSec = this.#lateSec(limit);
    // One that was marked in time may have left then: whoever has seen it has the secret.
    const isMark = ({ event: e }: StoredEvent): boolean => e.type === "tx_attempted" && e.slot === "takerPaymentSpend";
    const markedMs = side.history.find(({ stored }) => isMark(stored))?.worldMs ?? Number.POSITIVE_INFINITY;
    const mayHaveLeft = markedMs <= limit * 1_000 + ENVELOPE.clockErrorMs;
    if (lateSec > 0 && !mayHaveLeft && !swap.isTimeWrong) early(`it is ${lateSec} s past its limit`);
  }

  /** What is wrong with the other side's payment, by the chain itself; null: it stands as deep as agreed, unspent, and may be spent. */
  #unfit(side: SwapSide, slot: "makerPayment" | "takerPayment"): string | null {
    const txid = side.state.facts[slot]?.txid ?? "";
    const { confs } = depthOf(side.state, slot);
    const depth = this.depth(side, slot, txid);
    if (depth < confs) return `the ${slot} has ${depth} of ${confs} confirmations`;
    if (this.#factsOf(side, slot).isNew(txid)) return `the ${slot} is made of new coins`;
    const isThere = confs === 0 || this.#factsOf(side, slot).isLocked(txid);
    return isThere ? null : `the ${slot} is not there or spent`;
  }

  /** Seconds by which a limit has passed for any clock that is as wrong as it may be; not above 0: it has not. */
  #lateSec(limit: number): number {
    return Math.floor((this.#world.clock.nowMs() - limit * 1_000 - ENVELOPE.clockErrorMs) / 1_000);
  }

  /** Rules "in order", "not both" and "in time", when a transaction leaves for the first time. */
  #checkLimits(swap: SwapRecord, side: SwapSide, slot: Slot, raw: string): void {
    const wrong = (rule: Rule, text: string): void => this.violate(rule, `${side.node}'s ${slot} leaves although ${text}`, swap.uuid);
    if (slot === ownPayment(side.role)) this.#checkPaid(swap, side, slot);
    if (slot === ownRefund(side.role)) {
      this.#checkNotBoth(swap, side, slot);
      this.checked("in time");
      const earlySec = this.#factsOf(side, slot).refundEarlySec(raw);
      if (earlySec > 0 && !this.#heldUp.mayLeave(swap, side)) wrong("in time", `its chain's time is ${earlySec} s before its lock`);
    }
  }

  /** Rule "not both": who has been paid, as its own log and the chain say, takes nothing back. */
  #checkNotBoth(swap: SwapRecord, side: SwapSide, slot: Slot): void {
    this.checked("not both");
    const claim = side.state.facts[ownClaim(side.role)];
    if (!claim?.block || this.depth(side, ownClaim(side.role), claim.txid) === 0) return;
    this.violate("not both", `${side.node}'s ${slot} leaves although its claim ${claim.txid} is in a block`, swap.uuid);
  }

  /** Rules "in order" and "in time" for a payment that leaves by a broadcast or a message. */
  #checkPaid(swap: SwapRecord, side: SwapSide, slot: Slot): void {
    if (slot === "takerPayment" && !swap.misled.has(side.node)) {
      this.checked("in order");
      const unfit = this.#unfit(side, "makerPayment");
      if (unfit !== null) this.violate("in order", `${side.node}'s ${slot} leaves although ${unfit}`, swap.uuid);
    }
    this.checked("in time");
    const lateSec = this.#lateSec(limitsOf(side).payBy);
    if (lateSec > 0 && !swap.isTimeWrong)
      this.violate("in time", `${side.node}'s ${slot} leaves although it is ${lateSec} s past its limit`, swap.uuid);
  }

  /** No other transaction of the maker may carry the secret before. */
  #checkSilent(swap: SwapRecord, raw: string, slot: Slot): void {
    const secret = this.#secrets.get(swap.uuid);
    if (secret && !this.#revealed.has(swap.uuid) && raw.includes(secret.toString("hex")))
      this.violate("secret", `the secret is in the maker's ${slot}`, swap.uuid);
  }

  /** A message about a swap on its way out of a node or a relay. */
  onFrame(from: string, frame: Uint8Array, uuid: string): void {
    this.#checkTold(from, frame, uuid);
    const secret = this.#secrets.get(uuid);
    if (!secret || this.#revealed.has(uuid)) return;
    this.checked("secret");
    if (Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).includes(secret))
      this.violate("secret", "the secret is in a message", uuid);
  }

  /** A payment leaves by the message, too, that tells the other side of it: whoever has its bytes can have it mined. */
  #checkTold(from: string, frame: Uint8Array, uuid: string): void {
    const swap = this.book.swaps.get(uuid);
    const side = swap && Object.values(swap.sides).find(({ node }) => node === from);
    const slot = side && ownPayment(side.role);
    const tx = slot && side.state.own[slot];
    if (!tx || this.#out.has(tx.txid)) return;
    if (!Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).includes(Buffer.from(tx.raw, "hex"))) return;
    this.#out.add(tx.txid);
    this.#checkPaid(swap, side, slot);
  }

  /** Rules "one output", "one nonce" and "one fee". */
  #checkInputs(swap: SwapRecord, slot: Slot, ticker: string, raw: string, txid: string): void {
    const takesNonce = this.facts(ticker).kind === "account";
    const isFromPurse = slot === "fee" || slot === "cancel" || slot === "makerPayment" || slot === "takerPayment" || isChildSlot(slot);
    if (!isFromPurse && !takesNonce) return;
    if (this.#sent.has(txid)) return;
    if (!this.#checkSpends(swap, slot, ticker, raw, txid) || slot !== "fee") return;
    this.checked("one fee");
    const fees = this.#feeOf.get(swap.uuid) ?? new Set();
    this.#feeOf.set(swap.uuid, fees.add(txid));
    if (fees.size > 1 && swap.outside.size === 0) this.violate("one fee", `a second fee ${txid} leaves`, swap.uuid);
  }

  /** Whether it is the fee of a swap that failed: it is worth nothing to its node. */
  #isWorthless(txid: string): boolean {
    const signed = this.book.byTxid.get(txid);
    const side = this.book.swaps.get(signed?.uuid ?? "")?.sides.taker;
    return signed?.slot === "fee" && side?.state.finished === "failed";
  }

  /** Whether it is a payment that lost to a transaction its swap ended on, as deep as that asks for: what is left of its inputs is free. */
  #isLost(txid: string, facts: ChainFacts): boolean {
    const signed = this.book.byTxid.get(txid);
    if (signed?.slot !== "makerPayment" && signed?.slot !== "takerPayment") return false;
    const { maker, taker } = this.book.swaps.get(signed.uuid)?.sides ?? {};
    const state = (signed.slot === "makerPayment" ? maker : taker)?.state;
    const winner = state?.finished === "cancelled" && state.facts.cancel;
    return winner ? facts.depth(winner.txid) >= depthOf(state, "cancel").confs : false;
  }

  /**
   * Nobody else's transaction spends what this one spends.
   * @param owner a swap, or whom it belongs to
   * @returns whether it is a transaction of that chain
   */
  #checkSpends(owner: SwapRecord | string, slot: string, ticker: string, raw: string, txid: string): boolean {
    const facts = this.facts(ticker);
    const rule = facts.kind === "utxo" ? "one output" : "one nonce";
    this.checked(rule);
    const points = facts.read(raw)?.spends ?? null;
    const uuidOf = (whose: SwapRecord | string): string | null => (typeof whose === "string" ? null : whose.uuid);
    if (points === null) {
      this.violate("stored first", `${slot} ${txid} does not parse`, uuidOf(owner));
      return false;
    }
    for (const point of points) {
      const other = this.#spentBy.get(point);
      // The fee stays the one to compare with: its swap may send it again.
      if (other && rule === "one nonce" && isFiller(raw) && this.#isWorthless(other.txid)) continue;
      // A disk put back does not know what was sent since then. Of outputs the chain can tell, unless nobody on it has any trace of that.
      const isTold = rule === "one nonce" || !other || this.book.isRemembered(other.txid) || facts.has(other.txid);
      const isInside = [owner, ...(rule === "one nonce" && other ? [other.owner] : [])].every((whose) =>
        typeof whose === "string" ? !this.#restored.has(whose) : whose.outside.size === 0,
      );
      const isFree = other && rule === "one output" && (this.#isLost(other.txid, facts) || facts.isTooOld(other.raw));
      if (other && other.owner !== owner && isInside && isTold && !isFree)
        this.violate(
          rule,
          `${slot} ${txid} spends ${point}, which ${other.txid} of ${whoIs(other.owner)} spends, too`,
          uuidOf(owner) ?? uuidOf(other.owner),
        );
      this.#spentBy.set(point, { owner, txid, raw });
    }
    return true;
  }
}

const accountOf = (node: string): string => `the account of ${node}`;
const whoIs = (owner: SwapRecord | string): string => (typeof owner === "string" ? owner : `swap ${owner.uuid}`);
