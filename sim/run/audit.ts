import { isCoinbase, outPointKey } from "../../src/chain/chainTx.ts";
import type { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import type { Slot } from "../../src/core/swap/events.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { SimWorld } from "../world/simWorld.ts";
import { readAccountChains } from "./readAccounts.ts";
import { chainTickerOf } from "./simAccounts.ts";
import type { SwapRecord, SwapSide } from "./swapBook.ts";
import type { Watch } from "./watch.ts";

/** A chain read from end to end: who spends what, and where each transaction is. */
export type Read = {
  readonly spender: ReadonlyMap<string, string>;
  readonly heightOf: ReadonlyMap<string, number>;
};

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
    readonly units: ReadonlyMap<string, bigint>;
    readonly feeScripts: readonly string[];
  },
): Audit {
  const reads = new Map([...world.chains.values()].map(({ ticker, chain }) => [ticker, readChain(chain)]));
  const endings = new Map<string, { maker: Ending; taker: Ending }>();
  const all = new Map<string, Read>([...reads, ...readAccountChains(world)]);
  for (const swap of watch.book.swaps.values()) endings.set(swap.uuid, judge(watch, swap, all));
  const minerFees = new Map<string, bigint>();
  const dexFees = new Map<string, bigint>();
  const owners = new Set([...world.nodes.values()].map((n) => toHex(n.script)));
  for (const [ticker, read] of reads) {
    const books = balance(watch, ticker, read, owners, funded.sinceHeight.get(ticker) ?? 0, funded.feeScripts);
    minerFees.set(ticker, books.minerFees);
    dexFees.set(ticker, books.dexFees);
    watch.checked("conservation");
    const sum = books.purses + books.contracts + books.minerFees + books.dexFees;
    const given = funded.units.get(ticker) ?? 0n;
    if (sum !== given) {
      watch.violate(
        "conservation",
        `${ticker}: purses ${books.purses} + contracts ${books.contracts} + miner fees ${books.minerFees} + dex fees ${books.dexFees} = ${sum}, given were ${given}`,
      );
    }
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

/** What became of the payments of a swap in one slot. */
export type Fate = "none" | "locked" | "claimed" | "refunded";

export function fateOf(watch: Watch, uuid: string, read: Read, payment: Slot, refund: Slot): Fate {
  const paid = watch.book.signedFor(uuid, payment).filter((id) => read.heightOf.has(id));
  if (paid.length === 0) return "none";
  const refunds = new Set(watch.book.signedFor(uuid, refund));
  const spends = paid.map((id) => read.spender.get(`${id}:0`));
  if (spends.some((s) => s === undefined)) return "locked";
  return spends.every((s) => refunds.has(s ?? "")) ? "refunded" : "claimed";
}

function ending(own: Fate, theirs: Fate): Ending {
  if (own === "locked") return "locked";
  const given = own === "claimed";
  const got = theirs === "claimed";
  if (given) return got ? "traded" : "lost";
  return got ? "gained" : "kept";
}

type Books = { purses: bigint; contracts: bigint; minerFees: bigint; dexFees: bigint };

function balance(
  watch: Watch,
  ticker: string,
  { chain }: UtxoRead,
  owners: ReadonlySet<string>,
  since: number,
  feeScripts: readonly string[],
): Books {
  const books: Books = { purses: 0n, contracts: 0n, minerFees: 0n, dexFees: 0n };
  const values = new Map<string, bigint>();
  for (let height = 1; height <= chain.state.tip.height; height++) {
    for (const [at, { txid, tx }] of chain.state.at(height)?.block.txs.entries() ?? []) {
      const isOurs = at > 0 && height >= since && !watch.strangers.has(txid);
      if (isOurs && !watch.book.byTxid.has(txid))
        watch.violate("stored first", `${ticker} has ${txid} in block ${height}, which no disk has`);
      if (isOurs) books.minerFees += tx.inputs.reduce((n, i) => n + (values.get(outPointKey(i)) ?? 0n), 0n);
      for (const [vout, o] of tx.outputs.entries()) {
        const key = `${txid}:${vout}`;
        values.set(key, o.value);
        if (isOurs) books.minerFees -= o.value;
        if (!chain.state.coins.get(key)) continue;
        const script = toHex(o.script);
        if (owners.has(script)) books.purses += o.value;
        else if (feeScripts.includes(script)) books.dexFees += o.value;
        else if (isOurs) books.contracts += o.value;
      }
    }
  }
  return books;
}

/** Sides that are not finished, for the rule "ends". */
export const unfinished = (swap: SwapRecord): readonly SwapSide[] => Object.values(swap.sides).filter((s) => s.finishedMs === null);
