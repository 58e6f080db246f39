import type { EvmAddress } from "../../src/core/evm/address.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { SimEvmChain } from "../world/evm/simEvmChain.ts";
import type { SimWorld } from "../world/simWorld.ts";
import { type AccountFunds, accountBalance } from "./fundAccounts.ts";
import { readAccountChains } from "./readAccounts.ts";
import { chainTickerOf, tokenAt } from "./simAccounts.ts";
import { checkNodes, swapMoves } from "./swapMoves.ts";
import type { Watch } from "./watch.ts";

/** The books of the account chains at the end: what became of every wei and token, in all and for each node, and of every transaction. */
export function auditAccounts(world: SimWorld, watch: Watch, funds: AccountFunds, feeAddress: EvmAddress): void {
  const reads = readAccountChains(world);
  for (const [ticker, chain] of world.accountChains) checkStored(watch, chain, funds.since.get(ticker)?.height ?? 0);
  for (const [ticker, given] of funds.purses) {
    const read = reads.get(chainTickerOf(ticker));
    if (!read) continue;
    const moves = swapMoves(watch, ticker, read);
    const gas = tokenAt(ticker) === null ? gasByNode(world, chainTickerOf(ticker), funds) : new Map<string, bigint>();
    checkWhole(world, watch, ticker, { funds, feeAddress, locked: moves.locked });
    const has = (node: string): bigint => accountBalance(world, ticker, world.node(node).account);
    checkNodes(watch, ticker, { given, has, moved: moves.moved, paid: gas });
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
