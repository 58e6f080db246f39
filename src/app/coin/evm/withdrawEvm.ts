import { addressFaultText, checksumAddress, type EvmAddress, parseAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { transferCall } from "../../../core/evm/erc20.ts";
import { effectiveGasPrice, type GasBid, greatestFee } from "../../../core/evm/gas.ts";
import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { add, fromUnits, type Rational, toUnits, ZERO } from "../../../core/money/rational.ts";
import { err, ok, type Result } from "../../../core/util/result.ts";
import { lookAgain } from "../lookAgain.ts";
import type { GasFee, Withdrawal, WithdrawError, WithdrawRequest } from "../withdraw.ts";
import { whyInNoBlock } from "./blockGas.ts";
import { dataBound, dataFeeObstacle } from "./dataCost.ts";
import { freeWei, gasPricesOf, priceObstacle } from "./evmAccount.ts";
import type { EvmCoin } from "./evmCoin.ts";
import { MOST_PRICE, marketBid, priceOf } from "./gasBid.ts";
import { type Call, signCall } from "./signCall.ts";

const GWEI_DECIMALS = 9;
const WEI_PER_GWEI = 10n ** 9n;
const PER_CENT = 100n;
/** A transaction that names a higher price is none. Its fee bounds it, but not where it asks for no gas. */
const MAX_UINT256 = 2n ** 256n - 1n;
/** Hundredths a token transfer's estimate is raised to where the coins file names none: what it touches may change until then. */
const TOKEN_ESTIMATE_PERCENT = 110n;

type Fail = Result<never, WithdrawError>;

/** `fee`: the most it takes beside the amount, wei: for gas, and what the chain takes for data beside that. */
type Offer = { readonly bid: GasBid; readonly gas: bigint; readonly fee: bigint };

const badFee = (reason: string): Fail => err({ kind: "InvalidFeePolicy", reason });

/** The bid and the gas units a request names; null: the coin's own rule, an estimate. */
function askedBid(coin: EvmCoin, request: WithdrawRequest): Result<{ readonly bid: GasBid; readonly gas: bigint | null }, WithdrawError> {
  const prices = gasPricesOf(coin.account);
  const { fee } = request;
  if (!fee) {
    const bid = marketBid(prices, coin.bidRule());
    if (priceOf(bid) > MOST_PRICE)
      return badFee(
        `the nodes ask ${priceOf(bid) / WEI_PER_GWEI} gwei for a unit of gas, more than ${MOST_PRICE / WEI_PER_GWEI}; to pay a price like that, name it in fee`,
      );
    return ok({ bid, gas: null });
  }
  if (fee.kind !== "gasPrice" && fee.kind !== "feeMarket")
    return badFee(`Expected 'EthGas' or 'EthGasEip1559' fee types, found ${fee.type}`);
  const bid = bidOfFee(fee);
  if (bid.kind === "eip1559" && prices.nextBaseFee === null)
    return badFee(`the ${coin.account.platform} chain has no EIP-1559 fees; use EthGas`);
  if (bid.kind === "eip1559" && bid.maxPriorityFeePerGas > bid.maxFeePerGas)
    return badFee("max_priority_fee_per_gas must not be above max_fee_per_gas");
  if (priceOf(bid) === 0n) return badFee("the price of gas must be above 0");
  if (priceOf(bid) > MAX_UINT256) return badFee("the price of gas is more than a transaction can name");
  if (prices.nextBaseFee !== null && effectiveGasPrice(bid, prices.nextBaseFee - prices.nextBaseFee / 8n) === null)
    return err({
      kind: "InvalidFee",
      price: fromUnits(priceOf(bid), GWEI_DECIMALS),
      baseFee: fromUnits(prices.nextBaseFee, GWEI_DECIMALS),
    });
  return ok({ bid, gas: fee.gas });
}

function bidOfFee(fee: GasFee): GasBid {
  const wei = (gwei: Rational): bigint => toUnits(gwei, GWEI_DECIMALS);
  return fee.kind === "gasPrice"
    ? { kind: "legacy", gasPrice: wei(fee.gasPrice) }
    : { kind: "eip1559", maxFeePerGas: wei(fee.maxFee), maxPriorityFeePerGas: wei(fee.maxPriority) };
}

async function estimate(coin: EvmCoin, call: Call, signal: AbortSignal): Promise<Result<bigint, WithdrawError>> {
  const { chain, address, gas } = coin.account;
  const found = await chain.estimateGas({ from: address, ...call }, signal);
  if (!found.ok) {
    const { kind, message } = found.error;
    return err({ kind: kind === "Unreachable" ? "Transport" : "Rejected", message });
  }
  const percent = coin.spec.kind.gas.estimatePercent ?? gas.estimatePercent ?? (coin.contract === null ? PER_CENT : TOKEN_ESTIMATE_PERCENT);
  return ok((found.value * percent + PER_CENT - 1n) / PER_CENT);
}

/**
 * Builds and signs a payment; sends it if asked. The nonce it proposes is taken only when it is sent (`NonceLedger`). What
 * own transactions that wait may still cost counts as gone. `max` of the platform coin is all but the greatest fee, and what the
 * chain takes for data beside it; the fee of a token comes from the platform coin.
 */
export async function withdrawEvm(
  coin: EvmCoin,
  request: WithdrawRequest,
  signal: AbortSignal,
): Promise<Result<Withdrawal, WithdrawError>> {
  await lookAgain(coin.account.clock, coin.account.chain, signal);
  const unpriced = priceObstacle(coin.account) ?? coin.untold()?.message ?? null;
  if (unpriced !== null) return err({ kind: "Transport", message: unpriced });
  const asked = askedBid(coin, request);
  if (!asked.ok) return asked;
  const obstacle = dataFeeObstacle(coin.account);
  if (obstacle !== null) return err({ kind: "Transport", message: obstacle });
  const to = parseAddress(request.to);
  if (!to.ok) return err({ kind: "InvalidAddress", reason: addressFaultText(to.error) });
  const lost = lostAt(coin, to.value);
  if (lost !== null) return err({ kind: "InvalidAddress", reason: lost });
  const isMax = request.amount === "max";
  const free = coin.freeUnits();
  if (isMax && free === 0n) return err({ kind: "ZeroBalanceToWithdrawMax" });
  const wanted = request.amount === "max" ? free : toUnits(request.amount, coin.decimals);
  if (wanted <= 0n) return tooLow(coin, request.amount === "max" ? ZERO : request.amount);
  if (wanted > free) return tooMuch(coin, free, wanted);
  const callOf = (amount: bigint): Call =>
    coin.contract === null
      ? { to: to.value, value: amount, data: new Uint8Array(0) }
      : { to: coin.contract, value: 0n, data: transferCall(to.value, amount) };
  // All of the platform coin leaves nothing for gas, which an estimate would be refused for.
  const units =
    asked.value.gas === null ? await estimate(coin, callOf(isMax && coin.contract === null ? 1n : wanted), signal) : ok(asked.value.gas);
  if (!units.ok) return units;
  const { bid } = asked.value;
  const offer: Offer = { bid, gas: units.value, fee: greatestFee(bid, units.value) + dataBound(coin.account.chain).wei };
  const amount = isMax && coin.contract === null ? wanted - offer.fee : wanted;
  const short = shortOfFee(coin, amount, offer.fee, free);
  if (short) return short;
  const inNoBlock = whyInNoBlock(coin.account.chain, { gasLimit: offer.gas, data: callOf(wanted).data });
  if (inNoBlock !== null) return asked.value.gas === null ? err({ kind: "Rejected", message: inNoBlock }) : badFee(inNoBlock);
  const make = (nonce: bigint): Result<SignedEvmTx, WithdrawError> => {
    // Another withdrawal may have been sent since: together they must not take more than there is.
    const gone =
      wanted > coin.freeUnits() ? tooMuch(coin, coin.freeUnits(), wanted) : shortOfFee(coin, amount, offer.fee, coin.freeUnits());
    if (gone) return gone;
    if (request.broadcast) request.onSend?.();
    return ok(signCall(coin.account, callOf(amount), { bid: offer.bid, gasLimit: offer.gas, nonce }));
  };
  const signed = await coin.account.nonces.signNext(make, request.broadcast, signal);
  return signed.ok ? ok(toWithdrawal(coin, to.value, amount, offer, signed.value)) : signed;
}

/** Addresses nothing comes back from; null: none of them. */
function lostAt({ contract, ticker, spec }: EvmCoin, to: EvmAddress): string | null {
  if (to === ZERO_ADDRESS) return "the zero address is nobody's: what is sent there is lost";
  if (to === contract) return `this is the contract of ${ticker} itself: what is sent there is lost`;
  return to === spec.swapContract || to === spec.fallbackSwapContract ? "this is the swap contract: what is sent there is lost" : null;
}

const tooLow = (coin: EvmCoin, amount: Rational): Fail => err({ kind: "AmountTooLow", amount, threshold: fromUnits(1n, coin.decimals) });
const tooMuch = (coin: EvmCoin, available: bigint, required: bigint): Fail =>
  err({
    kind: "NotSufficientBalance",
    coin: coin.ticker,
    available: fromUnits(available, coin.decimals),
    required: fromUnits(required, coin.decimals),
  });

function shortOfFee(coin: EvmCoin, amount: bigint, fee: bigint, free: bigint): Fail | null {
  if (coin.contract === null) {
    if (amount <= 0n) return tooMuch(coin, free, fee + 1n);
    return amount + fee > free ? tooMuch(coin, free, amount + fee) : null;
  }
  const { platform, platformDecimals } = coin.account;
  const wei = freeWei(coin.account);
  if (fee <= wei) return null;
  return err({
    kind: "NotSufficientPlatformBalanceForFee",
    coin: platform,
    available: fromUnits(wei, platformDecimals),
    required: fromUnits(fee, platformDecimals),
  });
}

function toWithdrawal(coin: EvmCoin, to: EvmAddress, amount: bigint, offer: Offer, signed: SignedEvmTx): Withdrawal {
  const { platform, platformDecimals, address } = coin.account;
  const whole = fromUnits(amount, coin.decimals);
  const inPlatform = (wei: bigint): Rational => fromUnits(wei, platformDecimals);
  const fee = inPlatform(offer.fee);
  const { bid } = offer;
  return {
    raw: signed.raw,
    txid: signed.txid,
    from: [coin.address],
    to: [checksumAddress(to)],
    total: whole,
    spentByMe: coin.contract === null ? add(whole, fee) : whole,
    receivedByMe: to === address ? whole : ZERO,
    fee,
    gas: {
      coin: platform,
      gas: offer.gas,
      gasPrice: inPlatform(priceOf(bid)),
      market: bid.kind === "eip1559" ? { maxFee: inPlatform(bid.maxFeePerGas), maxPriority: inPlatform(bid.maxPriorityFeePerGas) } : null,
    },
  };
}
