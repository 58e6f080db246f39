import type { SimNode } from "../../sim/world/simNode.ts";
import type { SimWorld } from "../../sim/world/simWorld.ts";
import { toUnits } from "../../src/core/money/rational.ts";
import { textToRational } from "../../src/core/swap/amountText.ts";
import type { Slot } from "../../src/core/swap/events.ts";
import { BASE, COINS, REL, type TradingWorld } from "./trade.ts";

/** Miner fees of one swap on one chain stay far below this, base units. */
const FEE_BOUND = 10_000n;

type Coin = (typeof COINS)[number];
export type Purse = { readonly [C in Coin]: bigint };
export type Purses = { readonly maker: Purse; readonly taker: Purse };

const purseOf = (node: SimNode): Purse => ({ DOC: node.balance("DOC"), MARTY: node.balance("MARTY") });
export const purses = ({ maker, taker }: TradingWorld): Purses => ({ maker: purseOf(maker), taker: purseOf(taker) });

/** Change of one purse, base units. */
export const change = (before: Purse, after: Purse): Purse => ({ DOC: after.DOC - before.DOC, MARTY: after.MARTY - before.MARTY });

/** Id of the transaction a node has in a slot of a swap, from its log. */
export function txidOf(node: SimNode, uuid: string, slot: Slot): string | undefined {
  let found: string | undefined;
  for (const e of node.events(uuid)) if ((e.type === "tx_seen" || e.type === "tx_signed") && e.slot === slot) found = e.txid;
  return found;
}

/** Every id the two nodes ever had for a slot. */
function txidsOf(nodes: readonly SimNode[], uuid: string, slot: Slot): ReadonlySet<string> {
  const found = new Set<string>();
  for (const n of nodes) for (const e of n.events(uuid)) if ("slot" in e && e.slot === slot && "txid" in e) found.add(e.txid);
  return found;
}

/** Contracts of a swap that still hold money. */
export function lockedContracts({ world, maker, taker }: TradingWorld, uuid: string): readonly string[] {
  const isUnspent = (ticker: string, txid: string): boolean => world.chain(ticker).chain.state.coins.get(`${txid}:0`) !== undefined;
  const payments = [
    [BASE, "makerPayment"],
    [REL, "takerPayment"],
  ] as const;
  return payments.flatMap(([ticker, slot]) =>
    [...txidsOf([maker, taker], uuid, slot)].filter((id) => isUnspent(ticker, id)).map((id) => `${slot} ${id}`),
  );
}

/** Units of a swap, from the log of whoever stored it; null when nobody did. */
function amountsOf({ maker, taker }: TradingWorld, uuid: string): { maker: bigint; taker: bigint; dexFee: bigint } | null {
  const first = maker.events(uuid)[0] ?? taker.events(uuid)[0];
  if (first?.type !== "started") return null;
  const { terms } = first;
  return {
    maker: toUnits(textToRational(terms.makerAmount), 8),
    taker: toUnits(textToRational(terms.takerAmount), 8),
    dexFee: BigInt(terms.dexFeeUnits),
  };
}

const isAbout = (value: bigint, expected: bigint, extra = 0n): boolean => value <= expected && value >= expected - FEE_BOUND - extra;

/** "traded" or "kept" when a purse changed as it must, less fees; else null: somebody lost. */
function verdict(own: bigint, other: bigint, given: bigint, got: bigint, dexFee: bigint): "traded" | "kept" | null {
  if (isAbout(own, -given, dexFee) && isAbout(other, got)) return "traded";
  return isAbout(own, 0n, dexFee) && isAbout(other, 0n) ? "kept" : null;
}

/**
 * What is wrong with the end of a swap: money still in a contract, or a side that neither traded nor kept its own, less
 * fees. Empty when all is well.
 */
export function wrongs(t: TradingWorld, uuid: string, before: Purses): readonly string[] {
  const after = purses(t);
  const amounts = amountsOf(t, uuid);
  const maker = change(before.maker, after.maker);
  const taker = change(before.taker, after.taker);
  const { maker: doc, taker: marty, dexFee } = amounts ?? { maker: 0n, taker: 0n, dexFee: 0n };
  const makerDid = verdict(maker.DOC, maker.MARTY, doc, marty, 0n);
  const takerDid = verdict(taker.MARTY, taker.DOC, marty, doc, dexFee);
  const text = (p: Purse): string => `DOC ${p.DOC}, MARTY ${p.MARTY}`;
  return [
    ...lockedContracts(t, uuid).map((c) => `still locked: ${c}`),
    ...(makerDid ? [] : [`the maker's purse: ${text(maker)}`]),
    ...(takerDid ? [] : [`the taker's purse: ${text(taker)}`]),
    ...(makerDid && takerDid && makerDid !== takerDid ? [`the maker ${makerDid}, the taker ${takerDid}`] : []),
  ];
}

/** Throws, with what the nodes last said, when a swap ended wrong for anybody. */
export function expectNobodyLost(t: TradingWorld, uuid: string, before: Purses): void {
  const found = wrongs(t, uuid, before);
  if (found.length > 0) throw new Error(`${found.join("\n")}\n${t.world.report()}`);
}

/** Both sides have a final outcome, or never had the swap. */
export const isOver = ({ maker, taker }: TradingWorld, uuid: string): boolean =>
  [maker, taker].every((n) => !n.swaps.has(uuid) || n.outcome(uuid) !== null || isCutUnpaid(n, uuid));

/** One whose record was cut looks for a payment of its own until a day past the lock, and has nothing to do if there is none. */
function isCutUnpaid(node: SimNode, uuid: string): boolean {
  const isPayment = (slot: Slot): boolean => slot === "makerPayment" || slot === "takerPayment";
  return node.has(uuid, (e) => e.type === "record_cut") && !node.has(uuid, (e) => e.type === "tx_attempted" && isPayment(e.slot));
}

/** Miner fee of the transaction in a slot, as the chain has it. */
export const minerFee = (world: SimWorld, node: SimNode, uuid: string, ticker: string, slot: Slot): bigint =>
  world.chain(ticker).feeOf(txidOf(node, uuid, slot) ?? "");

/**
 * Funds of a node that no swap needs any more and that are still not free, or that it believes in and the chain does
 * not have. Empty when the ledger and the chain agree. For nodes that run, with nothing going on.
 */
export function leftovers(t: TradingWorld): readonly string[] {
  const found: string[] = [];
  for (const node of [t.maker, t.taker]) {
    for (const ticker of COINS) {
      const ledger = node.node.coins.utxo(ticker)?.ledger;
      const spendable = ledger?.spendable().reduce((n, u) => n + u.value, 0n) ?? 0n;
      const held = ledger?.held() ?? 0n;
      if (held !== 0n) found.push(`${node.name} still promises ${held} units of ${ticker}`);
      if (spendable !== node.balance(ticker))
        found.push(`${node.name} can spend ${spendable} of ${node.balance(ticker)} units of ${ticker}`);
    }
  }
  return found;
}
