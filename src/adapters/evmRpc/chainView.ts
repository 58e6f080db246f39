import type { EvmAddress } from "../../core/evm/address.ts";
import type { DataCost } from "../../core/evm/dataCost.ts";
import type { GasPrices } from "../../core/evm/gas.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import type { AccountState, AccountTip, AccountTx, PaymentEvent, PaymentKey, SwapPayment, TokenState } from "../../ports/accountChain.ts";
import type { BlockRef, ChainChange } from "../../ports/chain.ts";

/** All the reads answer from, made by one look and never changed. Keys of the maps as in `accountKey` and its kin. */
export type ChainView = {
  readonly tip: AccountTip;
  readonly accounts: ReadonlyMap<EvmAddress, AccountState>;
  readonly tokens: ReadonlyMap<string, TokenState>;
  readonly txs: ReadonlyMap<string, AccountTx>;
  /** Followed transactions of which no answer could be read. */
  readonly unread: ReadonlySet<string>;
  readonly payments: ReadonlyMap<string, SwapPayment>;
  readonly prices: GasPrices | null;
  /** Null: not known yet. */
  readonly data: DataCost | null;
};

export const tokenKey = (token: EvmAddress, owner: EvmAddress): string => `${token}/${owner}`;
export const paymentKey = ({ contract, id }: PaymentKey): string => `${contract}/${id}`;

const sameBlock = (a: BlockRef | null, b: BlockRef | null): boolean => a === b || (a !== null && b !== null && a.hash === b.hash);

const sameAccount = (a: AccountState, b: AccountState): boolean =>
  a.balance === b.balance && a.nonce === b.nonce && a.pendingNonce === b.pendingNonce;
const sameToken = (a: TokenState, b: TokenState): boolean => a.balance === b.balance;
const sameTx = (a: AccountTx, b: AccountTx): boolean => sameBlock(a.block, b.block) && a.receipt?.succeeded === b.receipt?.succeeded;
const sameEvent = (a: PaymentEvent | null, b: PaymentEvent | null): boolean =>
  a === b || (a !== null && b !== null && a.txid === b.txid && sameBlock(a.block, b.block));
const samePayment = (a: SwapPayment, b: SwapPayment): boolean =>
  a.state === b.state &&
  a.lockTime === b.lockTime &&
  a.events === b.events &&
  sameBlock(a.unshown, b.unshown) &&
  equalBytes(a.paymentHash, b.paymentHash) &&
  sameEvent(a.sent, b.sent) &&
  sameEvent(a.spent, b.spent) &&
  sameEvent(a.refunded, b.refunded);

/** Names the keys whose values differ, are new or are gone. */
function differing<K, V>(
  before: ReadonlyMap<K, V>,
  after: ReadonlyMap<K, V>,
  same: (a: V, b: V) => boolean,
  note: (key: K, value: V) => void,
): void {
  for (const [key, value] of after) {
    const old = before.get(key);
    if (old === undefined || !same(old, value)) note(key, value);
  }
  for (const [key, value] of before) if (!after.has(key)) note(key, value);
}

const samePrices = (a: GasPrices | null, b: GasPrices | null): boolean =>
  a?.legacy === b?.legacy &&
  a?.nextBaseFee === b?.nextBaseFee &&
  a?.priority?.low === b?.priority?.low &&
  a?.priority?.medium === b?.priority?.medium &&
  a?.priority?.high === b?.priority?.high;

const sameData = (a: DataCost | null, b: DataCost | null): boolean => a?.gas === b?.gas && a?.sureGas === b?.sureGas && a?.wei === b?.wei;

/** What of the reads answers something else than before. */
export function viewChange(before: ChainView | null, after: ChainView): ChainChange {
  if (before === null) return { all: true, keys: new Set() };
  const keys = new Set<string>();
  const add = (key: string): void => void keys.add(key);
  differing(before.accounts, after.accounts, sameAccount, add);
  differing(before.tokens, after.tokens, sameToken, add);
  differing(before.txs, after.txs, sameTx, add);
  for (const txid of before.unread) if (!after.unread.has(txid)) add(txid);
  for (const txid of after.unread) if (!before.unread.has(txid)) add(txid);
  differing(before.payments, after.payments, samePayment, (_key, payment) => add(payment.id));
  const all =
    before.tip.hash !== after.tip.hash ||
    before.tip.finalized !== after.tip.finalized ||
    !samePrices(before.prices, after.prices) ||
    !sameData(before.data, after.data);
  return { all, keys };
}
