import { isCoinbase, outPointKey } from "../../src/chain/chainTx.ts";
import type { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import type { Slot } from "../../src/core/swap/events.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { SimWorld } from "../world/simWorld.ts";
import { type Fate, fateOf, type Read } from "./fate.ts";
import { readAccountChains } from "./readAccounts.ts";
import { chainTickerOf } from "./simAccounts.ts";
import { checkSpendFees } from "./spendFees.ts";
import type { SwapRecord, SwapSide } from "./swapBook.ts";
import { checkNodes, swapMoves } from "./swapMoves.ts";
import type { Watch } from "./watch.ts";

type UtxoRead = Read & { readonly chain: EmbeddedChain };

export type Ending = "traded" | "kept" | "lost" | "gained" | "locked";

export type Audit = {
  /** How each swap ended for maker and taker by the chains. */
  readonly endings: ReadonlyMap<string, { readonly maker: Ending; readonly taker: Ending }>;
  /** Base units by coin. */
  readonly minerFees: ReadonlyMap<string, bigint>;
  readonly dexFees: ReadonlyMap<string, bigint>;
};

function readChain(chain: EmbeddedChain): UtxoRead {
  const spender = new Map<string, string>();
  const heightOf = new Map<string, number>();
  for (let height = 0; height <= chain.state.tip.height; height++) {
    for (const { txid, tx } of chain.state.at(height)?.block.txs ?? []) {
      heightOf.set(txid, height);
      if (!isCoinbase(tx)) for (const input of tx.inputs) spender.set(outPointKey(input), txid);
    }
  }
  return { chain, spender, heightOf };
}

/** The whole books at the end: what became of every payment, every transaction, every unit. */
export function audit(
  world: SimWorld,
  watch: Watch,
  funded: {
    readonly sinceHeight: ReadonlyMap<string, number>;
    /** What each node was given of a coin, by coin. */
    readonly purses: ReadonlyMap<string, ReadonlyMap<string, bigint>>;
    readonly feeScripts: readonly string[];
  },
): Audit {
  const reads = new Map([...world.chains.values()].map(({ ticker, chain }) => [ticker, readChain(chain)]));
  const endings = new Map<string, { maker: Ending; taker: Ending }>();
  const all = new Map<string, Read>([...reads, ...readAccountChains(world)]);
  for (const swap of watch.book.swaps.values()) endings.set(swap.uuid, judge(watch, swap, all));
  const minerFees = new Map<string, bigint>();
  const dexFees = new Map<string, bigint>();
  const owners = new Map([...world.nodes.values()].map((n) => [toHex(n.script), n.name]));
  for (const [ticker, read] of reads) {
    const books = balance(watch, ticker, read, owners, funded.sinceHeight.get(ticker) ?? 0, funded.feeScripts);
    const sumOf = (all: Iterable<bigint>): bigint => [...all].reduce((n, units) => n + units, 0n);
    const purses = sumOf(books.purses.values());
    const fees = sumOf(books.minerFees.values());
    minerFees.set(ticker, fees);
    dexFees.set(ticker, books.dexFees);
    const given = funded.purses.get(ticker) ?? new Map<string, bigint>();
    const moves = swapMoves(watch, ticker, read);
    watch.checked("conservation");
    const sum = purses + books.contracts + fees + books.dexFees;
    if (sum !== sumOf(given.values())) {
      watch.violate(
        "conservation",
        `${ticker}: purses ${purses} + contracts ${books.contracts} + miner fees ${fees} + dex fees ${books.dexFees} = ${sum}, given were ${sumOf(given.values())}`,
      );
    }
    if (books.contracts !== moves.locked)
      watch.violate("conservation", `${ticker}: contracts hold ${books.contracts}, of swaps are ${moves.locked}`);
    checkSpendFees(watch, ticker, books.feeOf);
    checkNodes(watch, ticker, { given, has: (node) => books.purses.get(node) ?? 0n, moved: moves.moved, paid: books.minerFees });
  }
  return { endings, minerFees, dexFees };
}

function judge(watch: Watch, swap: SwapRecord, reads: ReadonlyMap<string, Read>): { maker: Ending; taker: Ending } {
  const { maker, taker } = swap.sides;
  const terms = (maker ?? taker)?.terms;
  const fate = (coin: string | undefined, payment: Slot, refund: Slot): Fate => {
    const read = reads.get(chainTickerOf(coin ?? ""));
    return read ? fateOf(watch, swap.uuid, read, payment, refund) : "none";
  };
  const madeByMaker = fate(terms?.makerCoin, "makerPayment", "makerPaymentRefund");
  const madeByTaker = fate(terms?.takerCoin, "takerPayment", "takerPaymentRefund");
  return { maker: ending(madeByMaker, madeByTaker), taker: ending(madeByTaker, madeByMaker) };
}

function ending(own: Fate, theirs: Fate): Ending {
  if (own === "locked") return "locked";
  const given = own === "claimed";
  const got = theirs === "claimed";
  if (given) return got ? "traded" : "lost";
  return got ? "gained" : "kept";
}

/** Base units; purses and miner fees by node. Contracts: whatever pays neither a node nor the dex fee. */
type Books = {
  readonly purses: Map<string, bigint>;
  readonly minerFees: Map<string, bigint>;
  readonly feeOf: Map<string, bigint>;
  contracts: bigint;
  dexFees: bigint;
};

function balance(
  watch: Watch,
  ticker: string,
  { chain }: UtxoRead,
  owners: ReadonlyMap<string, string>,
  since: number,
  feeScripts: readonly string[],
): Books {
  const books: Books = { purses: new Map(), minerFees: new Map(), feeOf: new Map(), contracts: 0n, dexFees: 0n };
  const add = (to: Map<string, bigint>, node: string, units: bigint): void => void to.set(node, (to.get(node) ?? 0n) + units);
  const values = new Map<string, bigint>();
  for (let height = 1; height <= chain.state.tip.height; height++) {
    for (const [at, { txid, tx }] of chain.state.at(height)?.block.txs.entries() ?? []) {
      const isOurs = at > 0 && height >= since && !watch.strangers.has(txid);
      const payer = watch.book.byTxid.get(txid)?.node;
      if (isOurs && payer === undefined) watch.violate("stored first", `${ticker} has ${txid} in block ${height}, which no disk has`);
      let fee = tx.inputs.reduce((n, i) => n + (values.get(outPointKey(i)) ?? 0n), 0n);
      for (const [vout, o] of tx.outputs.entries()) {
        const key = `${txid}:${vout}`;
        values.set(key, o.value);
        fee -= o.value;
        if (!chain.state.coins.get(key)) continue;
        const script = toHex(o.script);
        const owner = owners.get(script);
        if (owner !== undefined) add(books.purses, owner, o.value);
        else if (feeScripts.includes(script)) books.dexFees += o.value;
        else if (isOurs) books.contracts += o.value;
      }
      if (!isOurs) continue;
      books.feeOf.set(txid, fee);
      add(books.minerFees, payer ?? "", fee);
    }
  }
  return books;
}

/** Sides that are not finished, for the rule "ends". */
export const unfinished = (swap: SwapRecord): readonly SwapSide[] => Object.values(swap.sides).filter((s) => s.finishedMs === null);
