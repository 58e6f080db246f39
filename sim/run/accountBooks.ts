import type { EvmAddress } from "../../src/core/evm/address.ts";
import { ownClaim, ownPayment, ownRefund, theirPayment } from "../../src/core/swap/events.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { SimEvmChain } from "../world/evm/simEvmChain.ts";
import type { SimWorld } from "../world/simWorld.ts";
import { fateOf, type Read } from "./audit.ts";
import { type AccountFunds, accountBalance } from "./fundAccounts.ts";
import { readAccountChains } from "./readAccounts.ts";
import { chainTickerOf, tokenAt } from "./simAccounts.ts";
import type { Watch } from "./watch.ts";

/** The books of the account chains at the end: what became of every wei and token, in all and for each node, and of every transaction. */
export function auditAccounts(world: SimWorld, watch: Watch, funds: AccountFunds, feeAddress: EvmAddress): void {
  const reads = readAccountChains(world);
  for (const [ticker, chain] of world.accountChains) checkStored(watch, chain, funds.since.get(ticker)?.height ?? 0);
  for (const [ticker, given] of funds.purses) {
    const read = reads.get(chainTickerOf(ticker));
    if (!read) continue;
    const books = swapBooks(watch, ticker, read);
    const gas = tokenAt(ticker) === null ? gasByNode(world, chainTickerOf(ticker), funds) : new Map<string, bigint>();
    checkWhole(world, watch, ticker, { funds, feeAddress, locked: books.locked });
    for (const [node, units] of given) {
      watch.checked("conservation");
      const has = accountBalance(world, ticker, world.node(node).account);
      const swaps = books.moved.get(node) ?? 0n;
      const paid = gas.get(node) ?? 0n;
      if (has !== units + swaps - paid)
        watch.violate(
          "conservation",
          `${ticker}: ${node} has ${has}, given were ${units}, swaps came to ${swaps}, gas cost ${paid}: ${has - units - swaps + paid} too many`,
        );
    }
  }
}

/** Rule "stored first": every transaction of a node in a block is on a disk. */
function checkStored(watch: Watch, chain: SimEvmChain, since: number): void {
  for (let height = since; height <= chain.tip.height; height++) {
    for (const { signed } of chain.at(height)?.txs ?? []) {
      if (!watch.isStored(toHex(signed.raw)))
        watch.violate("stored first", `${chain.ticker} has ${signed.txid} of ${signed.from} in block ${height}, which no disk has`);
    }
  }
}

/** Wei each node paid for gas, of transactions that failed, too. */
function gasByNode(world: SimWorld, ticker: string, { since }: AccountFunds): ReadonlyMap<string, bigint> {
  const chain = world.accountChain(ticker);
  const nodes = new Map([...world.nodes.values()].map((node) => [node.account, node.name]));
  const paid = new Map<string, bigint>();
  for (let height = since.get(ticker)?.height ?? 0; height <= chain.tip.height; height++) {
    for (const { signed } of chain.at(height)?.txs ?? []) {
      const node = nodes.get(signed.from) ?? "";
      paid.set(node, (paid.get(node) ?? 0n) + chain.feeOf(signed.txid));
    }
  }
  return paid;
}

/** What swaps moved of a coin, by the amounts agreed on and what became of the payments: for each node, and still in contracts. */
function swapBooks(watch: Watch, ticker: string, read: Read): { readonly moved: ReadonlyMap<string, bigint>; readonly locked: bigint } {
  const moved = new Map<string, bigint>();
  let locked = 0n;
  const add = (node: string, units: bigint): void => void moved.set(node, (moved.get(node) ?? 0n) + units);
  for (const { uuid, sides } of watch.book.swaps.values()) {
    for (const { node, role, terms } of Object.values(sides)) {
      const isMaker = role === "maker";
      const [given, got] = isMaker ? [terms.makerCoin, terms.takerCoin] : [terms.takerCoin, terms.makerCoin];
      const [givenUnits, gotUnits] = (isMaker ? [terms.makerUnits, terms.takerUnits] : [terms.takerUnits, terms.makerUnits]).map(BigInt);
      if (given === ticker) {
        const fate = fateOf(watch, uuid, read, ownPayment(role), ownRefund(role));
        if (fate === "locked") locked += givenUnits ?? 0n;
        if (fate === "locked" || fate === "claimed") add(node, -(givenUnits ?? 0n));
        const fees = watch.book.signedFor(uuid, "fee").filter((id) => read.heightOf.has(id));
        if (!isMaker) add(node, -BigInt(fees.length) * (BigInt(terms.dexFeeUnits) + BigInt(terms.dexBurnUnits)));
      }
      if (got !== ticker) continue;
      const claims = new Set(watch.book.signedFor(uuid, ownClaim(role)));
      for (const id of watch.book.signedFor(uuid, theirPayment(role)))
        if (claims.has(read.spender.get(`${id}:0`) ?? "")) add(node, gotUnits ?? 0n);
    }
  }
  return { moved, locked };
}

type Whole = { readonly funds: AccountFunds; readonly feeAddress: EvmAddress; readonly locked: bigint };

/** Rule "conservation" over everybody; and contracts hold what swaps left in them, nothing else. */
function checkWhole(world: SimWorld, watch: Watch, ticker: string, { funds, feeAddress, locked }: Whole): void {
  const platform = chainTickerOf(ticker);
  const chain = world.accountChain(platform);
  const given = funds.purses.get(ticker) ?? new Map<string, bigint>();
  const sumOf = (list: readonly bigint[]): bigint => list.reduce((sum, units) => sum + units, 0n);
  const purses = sumOf([...given.keys()].map((node) => accountBalance(world, ticker, world.node(node).account)));
  const contracts = sumOf(chain.swapContracts.map((contract) => accountBalance(world, ticker, contract)));
  const dexFees = accountBalance(world, ticker, feeAddress);
  const gas = tokenAt(ticker) === null ? chain.burned + chain.earned - (funds.since.get(platform)?.gasPaid ?? 0n) : 0n;
  const all = sumOf([...given.values()]);
  watch.checked("conservation");
  if (purses + contracts + dexFees + gas !== all)
    watch.violate(
      "conservation",
      `${ticker}: purses ${purses} + contracts ${contracts} + gas ${gas} + dex fees ${dexFees} = ${purses + contracts + dexFees + gas}, given were ${all}`,
    );
  if (contracts !== locked) watch.violate("conservation", `${ticker}: contracts hold ${contracts}, of swaps are ${locked}`);
}
