import type { SimEvmChain } from "../../sim/world/evm/simEvmChain.ts";
import type { EvmCoin } from "../../src/app/coin/evm/evmCoin.ts";
import { EvmSwapCoin } from "../../src/app/coin/evm/evmSwapCoin.ts";
import { chainOf } from "../../src/app/swap/contracts.ts";
import { toUnits } from "../../src/core/money/rational.ts";
import {
  type Outcome,
  ownClaim,
  ownPayment,
  ownRefund,
  type Role,
  type Slot,
  type SwapEvent,
  theirPayment,
} from "../../src/core/swap/events.ts";
import type { SwapState } from "../../src/core/swap/swapState.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { deadlinesOf } from "../../src/core/swap/timelocks.ts";
import type { MatrixNode } from "./matrixNode.ts";
import { CONFIRMATIONS, GIVES, type MatrixWorld } from "./matrixWorld.ts";
import { familyOf, GAS, platformOf, TICKERS, type Ticker } from "./pairs.ts";

/** What became of a side's money by the chains. */
export type Ending = "traded" | "kept" | "lost" | "gained" | "locked";
export type Books = { readonly ending: Ending; readonly minerFees: bigint; readonly wrongs: readonly string[] };
/** What a side has of both coins, and of the one that pays for gas; base units. */
export type Holdings = { readonly [T in Ticker]: bigint } & { readonly gas: bigint };

export const holdingsOf = (world: MatrixWorld, { purse }: MatrixNode): Holdings => ({
  AAA: world.leg("AAA").balance(purse),
  BBB: world.leg("BBB").balance(purse),
  gas: world.account?.sim.balance(purse.account) ?? 0n,
});

/** The books of one honest side at the end: fate of both payments, every unit of its purse, and what its status says of it. */
export function closeBooks(world: MatrixWorld, node: MatrixNode, before: Holdings): Books {
  const { role } = node;
  const [own, other] = [GIVES[role], role === "maker" ? "BBB" : ("AAA" as Ticker)];
  const isInBlock = (ticker: Ticker, txid: string): boolean => world.chain(ticker).depth(txid) > 0;
  /** Ids of everything this side ever signed, or of the other side's payments, by slot. */
  const ids = new Map<Slot, Set<string>>();
  const mine = new Map<string, Slot>();
  for (const { event: e } of node.disk) {
    if (!("raw" in e)) continue;
    ids.set(e.slot, (ids.get(e.slot) ?? new Set()).add(e.txid));
    if (e.type === "tx_signed" || e.type === "tx_replaced") mine.set(e.txid, e.slot);
  }
  const fate = (slot: Slot, ticker: Ticker, back: Slot): "none" | "locked" | "claimed" | "refunded" => {
    const paid = [...(ids.get(slot) ?? [])].filter((id) => isInBlock(ticker, id));
    if (paid.length === 0) return "none";
    const spends = paid.map((id) => world.leg(ticker).endOf(id));
    if (spends.some((s) => s === null)) return "locked";
    return spends.every((s) => ids.get(back)?.has(s ?? "")) ? "refunded" : "claimed";
  };
  const given = fate(ownPayment(role), own, ownRefund(role));
  // Of the other payment only what this side's own claim took counts.
  const got = [...(ids.get(theirPayment(role)) ?? [])].some((id) => {
    const spend = world.leg(other).endOf(id);
    return spend !== null && mine.get(spend) === ownClaim(role);
  });
  // A side that has the other coin has traded, whether the other side has come for its own by then or not.
  const isTraded = got && (given === "claimed" || given === "locked");
  const ending: Ending = isTraded ? "traded" : given === "locked" ? "locked" : given === "claimed" ? "lost" : got ? "gained" : "kept";
  const wrongs: string[] = [];
  const fees = { AAA: 0n, BBB: 0n };
  let dexFee = 0n;
  for (const [txid, slot] of mine) {
    const ticker = chainOf(role, slot) === "maker" ? "AAA" : "BBB";
    if (!isInBlock(ticker, txid)) continue;
    if (familyOf(world.pair, ticker) === "UTXO") fees[ticker] += world.utxo(ticker).feeOf(txid);
    if (slot === "fee") dexFee += world.dexFeeUnits;
  }
  const minerFees = fees.AAA + fees.BBB;
  // Gas is paid for approvals and for what failed, too.
  const gas = world.account?.gasPaid(node.purse.account) ?? 0n;
  for (const ticker of TICKERS) if (familyOf(world.pair, ticker) === "ETH") fees[ticker] += gas;
  const after = holdingsOf(world, node);
  const stillLocked = given === "locked" ? world.units(role) : 0n;
  const expected = {
    [own]: before[own] - (given === "claimed" ? world.units(role) : 0n) - stillLocked - fees[own] - dexFee,
    [other]: before[other] + (got ? world.units(role === "maker" ? "taker" : "maker") : 0n) - fees[other],
  };
  for (const t of TICKERS) if (after[t] !== expected[t]) wrongs.push(`${role} has ${after[t]} ${t}, by its transactions ${expected[t]}`);
  const isGasApart = platformOf(world.pair) === GAS;
  if (isGasApart && after.gas !== before.gas - gas) wrongs.push(`${role} has ${after.gas} wei, by its transactions ${before.gas - gas}`);
  return { ending, minerFees, wrongs: [...wrongs, ...statusWrongs(world, node)] };
}

/** Decides how a swap ended. */
const DECIDING: { readonly [O in Outcome]?: (role: Role) => Slot } = { success: ownClaim, refunded: ownRefund, cancelled: () => "cancel" };

/**
 * Rules that hold at the moment an event is stored: the maker shows its secret only while the other payment is deep and unspent and there
 * is time left, and a swap ends only on what is deep.
 */
export function stepWrongs(world: MatrixWorld, s: SwapState, e: SwapEvent, nowSec: number): readonly string[] {
  const wrongs: string[] = [];
  const shallow = (slot: Slot): boolean =>
    world.chain(chainOf(s.terms.role, slot) === "maker" ? "AAA" : "BBB").depth(s.facts[slot]?.txid ?? "") < CONFIRMATIONS;
  if (e.type === "tx_attempted" && e.slot === "takerPaymentSpend") {
    if (shallow("takerPayment")) wrongs.push("the maker shows its secret for a payment that is not deep");
    if (!world.leg("BBB").isOpen(s.facts.takerPayment?.txid ?? "")) wrongs.push("the maker shows its secret for a spent payment");
    if (nowSec > deadlinesOf(s).revealBy) wrongs.push("the maker shows its secret too late");
  }
  const decided = e.type === "finished" ? DECIDING[e.outcome]?.(s.terms.role) : undefined;
  if (decided && shallow(decided)) wrongs.push(`the ${s.terms.role} ends its swap on a ${decided} that is not deep`);
  return wrongs;
}

/** Rule "truth": the status says what the chain says. */
function statusWrongs(world: MatrixWorld, node: MatrixNode): readonly string[] {
  const { role, state } = node;
  if (!state) return [];
  const own = swapStatus(node.disk).swapnode as { outcome: string | null; on_chain: string | null; danger: string | null };
  const stands = (slot: Slot): boolean => {
    const { txid } = state.facts[slot] ?? {};
    return txid !== undefined && world.chain(chainOf(role, slot) === "maker" ? "AAA" : "BBB").depth(txid) > 0;
  };
  const paid = state.own[ownPayment(role)]?.txid;
  const truth: { readonly [outcome: string]: boolean } = {
    success: stands(ownClaim(role)),
    refunded: stands(ownRefund(role)),
    cancelled: stands("cancel"),
    failed: paid === undefined || world.chain(GIVES[role]).depth(paid) === 0,
    lost: true,
  };
  const wrongs = [];
  if (own.outcome === null) wrongs.push(`the ${role}'s swap is not finished`);
  else if (!truth[own.outcome]) wrongs.push(`the ${role}'s status says ${own.outcome}, the chain does not`);
  if (own.outcome !== own.on_chain) wrongs.push(`the ${role}'s status says ${own.outcome}, its facts say ${own.on_chain}`);
  return wrongs;
}

/** What a loss is called in the status of its swap; null when nothing is said. */
export function dangerIn(node: MatrixNode): string | null {
  if (node.disk.length === 0) return null;
  const own = swapStatus(node.disk).swapnode as { outcome: string | null; danger: string | null };
  return own.danger ?? (own.outcome === "lost" ? "lost" : null);
}

/** Funds of a node at rest that no swap needs any more and that are still not free, or that it believes in and the chain does not have. */
export function notFree(world: MatrixWorld, node: MatrixNode): readonly string[] {
  return TICKERS.flatMap((ticker) => {
    const coin = node.coin(ticker);
    const [locked, spendable] = [toUnits(coin.locked(), coin.decimals), toUnits(coin.spendable(), coin.decimals)];
    const balance = world.leg(ticker).balance(node.purse);
    return [
      ...(locked === 0n ? [] : [`the ${node.role} still promises ${locked} ${ticker}`]),
      ...(spendable === balance ? [] : [`the ${node.role} can spend ${spendable} of ${balance} ${ticker}`]),
      ...(coin instanceof EvmSwapCoin && world.account ? lineWrongs(world.account.sim, node, coin.coin) : []),
    ];
  });
}

/** What an account at rest still has in its line, or would do wrong next. */
function lineWrongs(chain: SimEvmChain, { role, purse }: MatrixNode, { account, ticker }: EvmCoin): readonly string[] {
  const waiting = account.nonces.waiting().length;
  const next = account.nonces.next();
  return [
    ...(waiting === 0 ? [] : [`the ${role} has ${waiting} transactions waiting on the chain of ${ticker}`]),
    ...(next === chain.nonceOf(purse.account) ? [] : [`the ${role} would use nonce ${next}`]),
  ];
}
