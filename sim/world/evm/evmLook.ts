import type { ChainView } from "../../../src/adapters/evmRpc/chainView.ts";
import { paymentKey } from "../../../src/adapters/evmRpc/chainView.ts";
import type { Unshown } from "../../../src/adapters/evmRpc/unshown.ts";
import type { WatchedPayment, Watches } from "../../../src/adapters/evmRpc/watches.ts";
import { CALL_SAMPLE, MOST_BESIDE, SAMPLE_BYTES, sampleGas } from "../../../src/core/evm/dataCost.ts";
import type { GasPrices } from "../../../src/core/evm/gas.ts";
import type { AccountTx, PaymentEvent, SwapPayment } from "../../../src/ports/accountChain.ts";
import type { BlockRef } from "../../../src/ports/chain.ts";
import type { EvmLink } from "./evmLink.ts";
import { intrinsicGas } from "./executeTx.ts";
import type { SimEvmChain } from "./simEvmChain.ts";

/** What must have happened for a payment to be in a state. */
const EVENTS_OF = { uninitialized: [], sent: ["sent"], spent: ["sent", "spent"], refunded: ["sent", "refunded"] } as const;

const SAMPLE_GAS = intrinsicGas(CALL_SAMPLE);

const ref = ({ height, hash }: BlockRef): BlockRef => ({ height, hash });

/** Where nodes contradict each other about more than any swap reckons with the last figure stays. */
function dataOf(chain: SimEvmChain, link: EvmLink, before: ChainView | null): ChainView["data"] {
  const [gas, most] = [SAMPLE_GAS + chain.dataGas, sampleGas(MOST_BESIDE)];
  if (gas <= most && gas + link.moreGas > most) return before?.data ?? null;
  return { gas: gas + link.moreGas, sureGas: gas, wei: link.lies.dataWei ?? chain.dataFee(SAMPLE_BYTES) };
}

function pricesOf(chain: SimEvmChain, { lies }: EvmLink): GasPrices {
  const told = (wei: bigint): bigint => (wei * lies.gasPercent) / 100n;
  const [nextBaseFee, medium] = [told(chain.nextBaseFee), told(chain.usualTip)];
  return { legacy: nextBaseFee + medium, nextBaseFee, priority: { low: medium / 2n, medium, high: 2n * medium } };
}

const hasReceipts = ({ tip }: SimEvmChain, { receiptsFrom, receiptsBehind }: EvmLink, { height }: BlockRef): boolean =>
  height >= receiptsFrom && height <= tip.height - receiptsBehind;

function txOf(chain: SimEvmChain, link: EvmLink, txid: string, seen: ReadonlyMap<string, AccountTx>, nowMs: number): AccountTx | null {
  const found = chain.find(txid);
  if (found === undefined) return null;
  const { signed, block, receipt } = found;
  if (block !== null && !hasReceipts(chain, link, block)) return null;
  return { txid, raw: signed.raw, block: block === null ? null : ref(block), receipt, seenAtMs: seen.get(txid)?.seenAtMs ?? nowMs };
}

function paymentOf(
  chain: SimEvmChain,
  link: EvmLink,
  { contract, id, fromHeight }: WatchedPayment,
  followed: ReadonlySet<string>,
): SwapPayment {
  const record = chain.payment(contract, id);
  const expected: readonly string[] = EVENTS_OF[record.state];
  const of = (kind: "sent" | "spent" | "refunded"): PaymentEvent | null => {
    const event = expected.includes(kind) ? chain.event(contract, id, kind) : null;
    // In the logs of the blocks that are searched, or in the receipt of a transaction that is followed anyway.
    const from = kind === "sent" ? fromHeight : Math.min(fromHeight, of("sent")?.block.height ?? fromHeight);
    const isFound = event !== null && ((!link.hasNoLogs && event.block.height >= from) || followed.has(event.txid));
    return isFound && hasReceipts(chain, link, event.block) ? event : null;
  };
  const events = { sent: of("sent"), spent: of("spent"), refunded: of("refunded") };
  const have = Object.values(events).filter((event) => event !== null).length;
  const open = link.isSearching ? "searching" : "missing";
  return { contract, id, block: ref(chain.tip), ...record, ...events, events: have === expected.length ? "complete" : open, unshown: null };
}

/** Everything that is watched, as it is at this moment and as the link tells it. */
export function lookAt(
  chain: SimEvmChain,
  link: EvmLink,
  watches: Watches,
  unshown: Unshown,
  before: ChainView | null,
  nowMs: number,
): ChainView {
  const { tip, finalized } = chain;
  if (before !== null && chain.at(before.tip.height)?.hash !== before.tip.hash) unshown.reorganised(before.tip.finalized);
  unshown.keepOnly(new Set(watches.payments.keys()));
  const payments = [...watches.payments.values()]
    .filter(({ contract }) => chain.swapContracts.includes(contract))
    .map((watched) => paymentOf(chain, link, watched, watches.txs))
    .map((payment) => ({ ...payment, unshown: unshown.sinceBlock(paymentKey(payment), payment, nowMs) }));
  const eventTxs = payments.flatMap(({ sent, spent, refunded }) => [sent, spent, refunded].flatMap((event) => event?.txid ?? []));
  const txs = [...new Set([...watches.txs, ...eventTxs])].flatMap((txid) => txOf(chain, link, txid, before?.txs ?? new Map(), nowMs) ?? []);
  const wrong = link.faults.heightLie();
  const timeSec = tip.timeSec + link.lies.timeSec;
  return {
    tip: {
      height: tip.height + wrong,
      hash: tip.hash,
      timeSec,
      medianTimePastSec: timeSec,
      finalized: finalized === null ? null : finalized + wrong,
      gasLimit: tip.gasLimit,
      baseFeePerGas: (tip.baseFee * link.lies.gasPercent) / 100n,
    },
    accounts: new Map(
      [...watches.accounts].map((address) => {
        const [balance, nonce, pendingNonce] = [chain.balance(address), chain.nonceOf(address), chain.pendingNonce(address)];
        return [address, { block: ref(tip), balance, nonce, pendingNonce }];
      }),
    ),
    tokens: new Map(
      [...watches.tokens]
        .filter(([, { token }]) => chain.tokens.has(token))
        .map(([key, { token, owner }]) => [key, { block: ref(tip), balance: chain.tokenBalance(token, owner) }]),
    ),
    txs: new Map(txs.map((tx) => [tx.txid, tx])),
    unread: new Set(),
    payments: new Map(payments.map((payment) => [paymentKey(payment), payment])),
    prices: pricesOf(chain, link),
    data: dataOf(chain, link, before),
  };
}
