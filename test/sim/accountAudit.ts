import type { SimNode } from "../../sim/world/simNode.ts";
import { EvmSwapCoin } from "../../src/app/coin/evm/evmSwapCoin.ts";
import { addressOfPubkey, type EvmAddress, ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { toUnits } from "../../src/core/money/rational.ts";
import type { Role, Slot, SwapTerms } from "../../src/core/swap/events.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { type AccountWorld, ALL, ETH, purse, type Ticker, TOKEN, TOKEN_AT, USDT, USDT_AT, UTXO } from "./accountTrade.ts";

/** Miner fees of one swap on the script chain stay below it, base units. */
const MINER_BOUND = 10_000n;
const SENT_BY: { readonly [R in Role]: readonly Slot[] } = {
  maker: ["makerPayment", "takerPaymentSpend", "makerPaymentRefund"],
  taker: ["fee", "takerPayment", "makerPaymentSpend", "takerPaymentRefund"],
};
const ROLES: readonly Role[] = ["maker", "taker"];
const AT: { readonly [T in Ticker]?: EvmAddress } = { [ETH]: ZERO_ADDRESS, [TOKEN]: TOKEN_AT, [USDT]: USDT_AT };

type Purse = Readonly<Record<Ticker, bigint>>;
/** What each side has, and the gas it has paid so far. Base units. */
export type Books = { readonly [R in Role]: { readonly purse: Purse; readonly gas: bigint } };

/** Gas that every transaction of an account has cost so far, wei. */
function gasPaid({ world }: AccountWorld, account: EvmAddress): bigint {
  const chain = world.accountChain(ETH);
  let sum = 0n;
  for (let height = 0; height <= chain.tip.height; height++) {
    for (const { signed } of chain.at(height)?.txs ?? []) if (signed.from === account) sum += chain.feeOf(signed.txid);
  }
  return sum;
}

export const books = (t: AccountWorld): Books => {
  const of = (node: SimNode) => ({ purse: purse(t, node), gas: gasPaid(t, node.account) });
  return { maker: of(t.maker), taker: of(t.taker) };
};

/** Terms of a swap by the log of a side; null where it never had it. */
function termsOf(node: SimNode, uuid: string): SwapTerms | null {
  const [first] = node.events(uuid);
  return first?.type === "started" ? first.terms : null;
}

export const outcomes = ({ maker, taker }: AccountWorld, uuid: string): string => `${maker.outcome(uuid)} ${taker.outcome(uuid)}`;

/** Id of the transaction a node has in a slot of a swap, from its log. */
export function txidOf(node: SimNode, uuid: string, slot: Slot): string | undefined {
  let found: string | undefined;
  for (const e of node.events(uuid)) if ((e.type === "tx_seen" || e.type === "tx_signed") && e.slot === slot) found = e.txid;
  return found;
}

/** What a side's transactions of a swap on the script chain paid their miners. */
export function minerFees({ world, ...t }: AccountWorld, role: Role, uuid: string): bigint {
  const chain = world.chain(UTXO);
  const slots = SENT_BY[role].flatMap((slot) => txidOf(t[role], uuid, slot) ?? []);
  return slots.reduce((sum, txid) => sum + (chain.chain.state.blockOfTx(txid) ? chain.feeOf(txid) : 0n), 0n);
}

/** What the address of the dex fee has of an account coin. */
export function dexBalance({ world }: AccountWorld, ticker: Ticker, feeKey: string): bigint {
  const address = addressOfPubkey(fromHex(feeKey));
  const at = AT[ticker];
  const chain = world.accountChain(ETH);
  if (at === undefined) return 0n;
  return at === ZERO_ADDRESS ? chain.balance(address) : chain.tokenBalance(at, address);
}

/** What the swap contract holds, of anything. */
export function locked({ world }: AccountWorld): readonly string[] {
  const chain = world.accountChain(ETH);
  return chain.swapContracts.flatMap((contract) =>
    (Object.entries(AT) as [Ticker, EvmAddress][]).flatMap(([ticker, at]) => {
      const held = at === ZERO_ADDRESS ? chain.balance(contract) : chain.tokenBalance(at, contract);
      return held === 0n ? [] : [`the swap contract holds ${held} ${ticker}`];
    }),
  );
}

/** Change of a purse, the gas that was really paid put back. */
export function change(t: AccountWorld, role: Role, before: Books): Purse {
  const now = books(t);
  const diff = Object.fromEntries(ALL.map((ticker) => [ticker, now[role].purse[ticker] - before[role].purse[ticker]])) as Record<
    Ticker,
    bigint
  >;
  diff[ETH] += now[role].gas - before[role].gas;
  return diff;
}

type Deal = { readonly given: Ticker; readonly got: Ticker; readonly pays: bigint; readonly gets: bigint; readonly fee: bigint };
const dealOf = (role: Role, terms: SwapTerms): Deal => {
  const [base, rel] = [terms.makerCoin as Ticker, terms.takerCoin as Ticker];
  const [maker, taker] = [BigInt(terms.makerUnits), BigInt(terms.takerUnits)];
  const fee = BigInt(terms.dexFeeUnits) + BigInt(terms.dexBurnUnits);
  return role === "maker"
    ? { given: base, got: rel, pays: maker, gets: taker, fee: 0n }
    : { given: rel, got: base, pays: taker, gets: maker, fee };
};

const isAbout = (ticker: Ticker, value: bigint, expected: bigint): boolean =>
  ticker === UTXO ? value <= expected && value >= expected - MINER_BOUND : value === expected;

/** What a side's purse says happened; null: what must not. */
function did(purseChange: Purse, deals: readonly { readonly deal: Deal; readonly outcome: string | null }[]): boolean {
  const expected = Object.fromEntries(ALL.map((ticker) => [ticker, new Set([0n])])) as Record<Ticker, Set<bigint>>;
  const add = (ticker: Ticker, by: bigint, optional: boolean): void => {
    const next = new Set<bigint>();
    for (const n of expected[ticker]) for (const m of optional ? [n, n + by] : [n + by]) next.add(m);
    expected[ticker] = next;
  };
  for (const { deal, outcome } of deals) {
    const { given, got, pays, gets, fee } = deal;
    if (outcome === "success") {
      add(given, -pays - fee, false);
      add(got, gets, false);
    } else if (fee > 0n) add(given, -fee, true);
  }
  return ALL.every((ticker) => [...expected[ticker]].some((n) => isAbout(ticker, purseChange[ticker], n)));
}

/**
 * What is wrong with the ends of these swaps: money still in the contract, a purse that is not to the base unit what the outcomes
 * say (gas as really paid; of a swap that came to nothing the dex fee may be gone), or one side that traded while the other did not.
 */
export function wrongs(t: AccountWorld, uuids: readonly string[], before: Books): readonly string[] {
  const found: string[] = [...locked(t)];
  for (const role of ROLES) {
    const deals = uuids.flatMap((uuid) => {
      const terms = termsOf(t[role], uuid);
      return terms ? [{ deal: dealOf(role, terms), outcome: t[role].outcome(uuid) }] : [];
    });
    const changed = change(t, role, before);
    const text = ALL.map((ticker) => `${ticker} ${changed[ticker]}`).join(", ");
    if (!did(changed, deals)) found.push(`the ${role} (${deals.map((d) => d.outcome).join(" ")}): ${text}`);
  }
  for (const uuid of uuids) {
    const [maker, taker] = [t.maker.outcome(uuid), t.taker.outcome(uuid)];
    if ((maker === "success") !== (taker === "success")) found.push(`the maker: ${maker}, the taker: ${taker}`);
  }
  return found;
}

/** Throws, with what the nodes last said, when a swap ended wrong for anybody. */
export function expectNobodyLost(t: AccountWorld, uuids: readonly string[], before: Books): void {
  const found = wrongs(t, uuids, before);
  if (found.length > 0) throw new Error(`${found.join("\n")}\n${t.world.report()}`);
}

/**
 * What a running node still keeps of an account coin or the script coin though no swap needs it: promises, nonces nobody uses, an
 * allowance. To be asked with nothing going on.
 */
export function leftovers(t: AccountWorld, allowances = 0n): readonly string[] {
  const found: string[] = [];
  const chain = t.world.accountChain(ETH);
  for (const node of [t.maker, t.taker]) {
    for (const ticker of ALL) {
      const coin = node.node.coins.active(ticker);
      if (!coin) continue;
      const locked = toUnits(coin.locked(), coin.decimals);
      if (locked !== 0n) found.push(`${node.name} keeps ${locked} units of ${ticker} locked`);
      const spendable = toUnits(coin.spendable(), coin.decimals);
      const has = purse(t, node)[ticker];
      if (spendable !== has) found.push(`${node.name} can spend ${spendable} of ${has} units of ${ticker}`);
      if (!(coin instanceof EvmSwapCoin)) continue;
      const { account, contract } = coin.coin;
      const held = account.funds.held(contract);
      if (held !== 0n) found.push(`${node.name} still promises ${held} of ${ticker}`);
      if (contract === null) {
        const waiting = account.nonces.waiting().length;
        if (waiting > 0) found.push(`${node.name} has ${waiting} transactions waiting`);
        if (account.nonces.next() !== chain.nonceOf(node.account)) found.push(`${node.name} would use nonce ${account.nonces.next()}`);
        continue;
      }
      for (const spender of chain.swapContracts) {
        const left = chain.allowance(contract, node.account, spender);
        if (left > allowances) found.push(`${node.name} leaves an allowance of ${left} of ${ticker}`);
      }
    }
  }
  return found;
}
