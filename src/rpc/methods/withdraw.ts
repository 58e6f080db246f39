import { z } from "zod";
import type { GasDetails, WithdrawError, WithdrawFee } from "../../app/coin/withdraw.ts";
import { lt, type Rational, sub, toDecimalString, ZERO } from "../../core/money/rational.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import type { RpcContext } from "../ctx.ts";
import { defineMethod } from "../define.ts";
import type { FaultTable } from "../fault.ts";
import { defaulted, flag, optional, type Read, readU64, text, ticker } from "../field.ts";
import { isJsonObject } from "../jsonNumber.ts";
import { readDecimal } from "../mmNumber.ts";
import { decimalText } from "../money.ts";
import { found, MISSING, unknownVariant, wrongType } from "../serdeText.ts";

const FEE_TYPES = ["UtxoFixed", "UtxoPerKbyte", "EthGas", "Qrc20Gas", "CosmosGas", "EthGasEip1559"];

/** A gas limit, an object with one, or whatever asks for an estimate (null, absent, `{"type":"Calc"}`). */
function readGas(value: unknown): Result<bigint | null, string> {
  const given = isJsonObject(value) ? value.gas_limit : value;
  if (given === undefined || given === null) return ok(null);
  const gas = readU64(given);
  return gas.ok ? ok(BigInt(gas.value)) : gas;
}

type Named = { readonly [key: string]: unknown };
function readPrice(fields: Named, name: string): Result<Rational, string> {
  return name in fields ? readDecimal(fields[name]) : err(`${MISSING} \`${name}\``);
}

function readGasPrice(fields: Named): Result<WithdrawFee, string> {
  const price = readPrice(fields, "gas_price");
  if (!price.ok) return price;
  const gas = readGas(fields.gas);
  return gas.ok ? ok({ kind: "gasPrice", type: "EthGas", gasPrice: price.value, gas: gas.value }) : gas;
}

function readFeeMarket(fields: Named): Result<WithdrawFee, string> {
  const priority = readPrice(fields, "max_priority_fee_per_gas");
  if (!priority.ok) return priority;
  const most = readPrice(fields, "max_fee_per_gas");
  if (!most.ok) return most;
  const gas = readGas(fields.gas_option);
  return gas.ok ? ok({ kind: "feeMarket", type: "EthGasEip1559", maxFee: most.value, maxPriority: priority.value, gas: gas.value }) : gas;
}

const readFee: Read<WithdrawFee> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "internally tagged enum WithdrawFee"));
  const type: unknown = "type" in value ? value.type : undefined;
  if (type === undefined) return err(`${MISSING} \`type\``);
  if (typeof type !== "string") return err(wrongType(type, "variant identifier"));
  if (!FEE_TYPES.includes(type)) return err(unknownVariant(type, FEE_TYPES));
  if (type === "EthGas") return readGasPrice(value);
  if (type === "EthGasEip1559") return readFeeMarket(value);
  if (type !== "UtxoFixed" && type !== "UtxoPerKbyte") return ok({ kind: "foreign", type });
  if (!("amount" in value)) return err(`${MISSING} \`amount\``);
  const amount = readDecimal(value.amount);
  return amount.ok ? ok({ kind: type === "UtxoFixed" ? "fixed" : "perKbyte", type, amount: amount.value }) : amount;
};

/** Any value: the presence alone matters. */
const readPresence: Read<string> = (value) => ok(found(value));

export const withdrawal = z.object({
  tx_hex: z.string().describe("The signed transaction; send it with `send_raw_transaction`."),
  tx_hash: z.string(),
  from: z.array(z.string()),
  to: z.array(z.string()),
  total_amount: decimalText.describe("Sum of the inputs; on account chains the amount."),
  spent_by_me: decimalText,
  received_by_me: decimalText,
  my_balance_change: decimalText,
  block_height: z.number(),
  timestamp: z.number().describe("Unix seconds."),
  fee_details: z.union([
    z.object({ type: z.literal("Utxo"), coin: z.string(), amount: decimalText }),
    z.object({
      type: z.literal("Eth"),
      coin: z.string().describe("The platform coin."),
      gas: z.number(),
      gas_price: decimalText.describe("Whole coins for a unit of gas; with EIP-1559 the most."),
      max_fee_per_gas: decimalText.nullable(),
      max_priority_fee_per_gas: decimalText.nullable(),
      total_fee: decimalText.describe("The most it can cost."),
    }),
  ]),
  coin: z.string(),
  internal_id: z.string(),
  transaction_type: z.literal("StandardTransfer"),
  memo: z.null(),
});

export type WithdrawFailure = WithdrawError | NoSuchCoin | { readonly kind: "UnexpectedFromAddress" };

const gasFee = (gas: GasDetails, total: Rational) => ({
  type: "Eth" as const,
  coin: gas.coin,
  gas: Number(gas.gas),
  gas_price: toDecimalString(gas.gasPrice),
  max_fee_per_gas: gas.market && toDecimalString(gas.market.maxFee),
  max_priority_fee_per_gas: gas.market && toDecimalString(gas.market.maxPriority),
  total_fee: toDecimalString(total),
});

/** The first of a fee's figures that is below 0. */
function negativeFigure(fee: WithdrawFee): Rational | undefined {
  const figures =
    fee.kind === "gasPrice"
      ? [fee.gasPrice]
      : fee.kind === "feeMarket"
        ? [fee.maxFee, fee.maxPriority]
        : "amount" in fee
          ? [fee.amount]
          : [];
  return figures.find((figure) => lt(figure, ZERO));
}

export const withdrawParams = z.object({
  coin: ticker(),
  to: text().describe("Address of the receiver."),
  amount: defaulted(readDecimal, ZERO, { type: ["string", "number"] }).describe("Whole coins; no rational forms."),
  max: flag(false).describe("Send everything, the fee taken off."),
  fee: optional(readFee, {
    type: "object",
    properties: {
      type: { enum: ["UtxoFixed", "UtxoPerKbyte", "EthGas", "EthGasEip1559"] },
      amount: { type: ["string", "number"] },
      gas_price: { type: ["string", "number"] },
      gas: { type: "integer" },
      max_fee_per_gas: { type: ["string", "number"] },
      max_priority_fee_per_gas: { type: ["string", "number"] },
      gas_option: {},
    },
    required: ["type"],
  }).describe(
    "A fixed fee, or a rate per 1000 bytes, in whole coins (`amount`). Of account chains prices in gwei: `gas_price` with `gas` units, or the two of EIP-1559 with `gas_option`, a number of units or null for an estimate. Default: the coin's own rule.",
  ),
  from: optional(readPresence, {}).describe("Refused: a coin has one address here."),
  broadcast: flag(false).describe("Also send it."),
});

/** Carries out a request to withdraw. @param onSend called before it may be out */
export async function runWithdraw(
  p: z.output<typeof withdrawParams>,
  ctx: RpcContext,
  signal: AbortSignal,
  onSend: () => void = () => undefined,
): Promise<Result<z.input<typeof withdrawal>, WithdrawFailure>> {
  const coin = activeCoin(ctx, p.coin);
  if (!coin.ok) return coin;
  if (p.from !== undefined) return err({ kind: "UnexpectedFromAddress" });
  const negative = p.fee && negativeFigure(p.fee);
  if (negative) return err({ kind: "InvalidFeePolicy", reason: `the fee ${toDecimalString(negative)} must not be negative` });
  const request = { to: p.to, amount: p.max ? ("max" as const) : p.amount, fee: p.fee, broadcast: p.broadcast, onSend };
  const built = await coin.value.withdraw(request, signal);
  if (!built.ok) return built;
  const w = built.value;
  return ok({
    tx_hex: toHex(w.raw),
    tx_hash: w.txid,
    from: [...w.from],
    to: [...w.to],
    total_amount: toDecimalString(w.total),
    spent_by_me: toDecimalString(w.spentByMe),
    received_by_me: toDecimalString(w.receivedByMe),
    my_balance_change: toDecimalString(sub(w.receivedByMe, w.spentByMe)),
    block_height: 0,
    timestamp: Math.floor(ctx.clock.nowMs() / 1000),
    fee_details: w.gas ? gasFee(w.gas, w.fee) : { type: "Utxo", coin: p.coin, amount: toDecimalString(w.fee) },
    coin: p.coin,
    internal_id: "",
    transaction_type: "StandardTransfer",
    memo: null,
  });
}

const belowBaseFee = ({ price, baseFee }: { readonly price: Rational; readonly baseFee: Rational }): string =>
  `the price of gas, ${toDecimalString(price)} gwei, is below the chain's base fee of ${toDecimalString(baseFee)} gwei`;

export const WITHDRAW_FAULTS: FaultTable<WithdrawFailure> = {
  NoSuchCoin: noSuchCoin(false),
  NotSufficientBalance: {
    http: 400,
    when: "The balance does not cover amount and fee.",
    text: ({ coin, available, required }) =>
      `Not enough ${coin} to withdraw: available ${toDecimalString(available)}, required at least ${toDecimalString(required)}`,
    data: ({ coin, available, required }) => ({ coin, available: toDecimalString(available), required: toDecimalString(required) }),
  },
  NotSufficientPlatformBalanceForFee: {
    http: 400,
    when: "A token's platform coin does not cover the fee.",
    text: ({ coin, available, required }) =>
      `Not enough ${coin} to afford fee. Available ${toDecimalString(available)}, required at least ${toDecimalString(required)}`,
    data: ({ coin, available, required }) => ({ coin, available: toDecimalString(available), required: toDecimalString(required) }),
  },
  ZeroBalanceToWithdrawMax: { http: 400, when: "`max` with an empty balance.", text: () => "Balance is zero" },
  AmountTooLow: {
    http: 400,
    when: "The amount is below the coin's dust.",
    text: ({ amount, threshold }) => `The amount ${toDecimalString(amount)} is too small, required at least ${toDecimalString(threshold)}`,
    data: ({ amount, threshold }) => ({ amount: toDecimalString(amount), threshold: toDecimalString(threshold) }),
  },
  InvalidAddress: {
    http: 400,
    when: "`to` is no address of this coin; on account chains also the zero address and the contracts of the token and of swaps, from which nothing comes back.",
    text: ({ reason }) => `Invalid address: ${reason}`,
    data: ({ reason }) => reason,
  },
  InvalidFeePolicy: {
    http: 400,
    when: "`fee` belongs to another kind of coin, is negative, or no block would take it (0, EIP-1559 where there is none, more gas than a block has or less than any transaction needs); or there is none and the nodes ask more than 10000 gwei for a unit of gas.",
    text: ({ reason }) => `Invalid fee policy: ${reason}`,
    data: ({ reason }) => reason,
  },
  InvalidFee: {
    http: 400,
    when: "`fee` names a price of gas below the chain's base fee.",
    text: (e) => `Invalid fee parameters: ${belowBaseFee(e)}`,
    data: (e) => ({
      reason: belowBaseFee(e),
      details: { provided_fee_cap_gwei: toDecimalString(e.price), required_base_fee_gwei: toDecimalString(e.baseFee) },
    }),
  },
  UnexpectedFromAddress: {
    http: 400,
    when: "`from` is given.",
    text: () => "Unexpected 'from': the coin has one address, and everything is sent from it",
    data: () => "from",
  },
  Rejected: {
    http: 502,
    type: "Transport",
    when: "The daemon refused the transaction.",
    text: (e) => `Transport error: ${e.message}`,
    data: (e) => e.message,
  },
  Transport: {
    http: 502,
    when: "The daemon or the servers gave no answer. With `broadcast` the transaction may have been sent: the text then names it.",
    text: (e) => `Transport error: ${e.message}`,
    data: (e) => e.message,
  },
};

/** As it is documented, by itself and as the end of a task. */
export const WITHDRAWAL_EXAMPLE: z.input<typeof withdrawal> = {
  tx_hex: "0400008085202f89",
  tx_hash: "0000000000000000000000000000000000000000000000000000000000000001",
  from: ["RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU"],
  to: ["RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR"],
  total_amount: "200",
  spent_by_me: "200",
  received_by_me: "198.9999",
  my_balance_change: "-1.0001",
  block_height: 0,
  timestamp: 1_795_228_902,
  fee_details: { type: "Utxo", coin: "DOC", amount: "0.0001" },
  coin: "DOC",
  internal_id: "",
  transaction_type: "StandardTransfer",
  memo: null,
};

export const withdraw = defineMethod<WithdrawFailure>()({
  name: "withdraw",
  style: "both",
  flatReply: "bare",
  struct: "WithdrawRequest",
  summary: "Build and sign a payment. It is sent only with `broadcast: true`, or by `send_raw_transaction`.",
  source: "reference rpc.md 5.1",
  params: withdrawParams,
  result: withdrawal,
  handle: (p, ctx, { signal }) => runWithdraw(p, ctx, signal),
  errors: WITHDRAW_FAULTS,
  examples: [
    {
      title: "Send 1 DOC",
      style: "v2",
      params: { coin: "DOC", to: "RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR", amount: "1" },
      result: WITHDRAWAL_EXAMPLE,
    },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD", to: "R9", amount: "1" }, error: "NoSuchCoin" },
    {
      title: "Too much",
      style: "flat",
      params: { coin: "DOC", to: "RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR", amount: "1000" },
      error: "NotSufficientBalance",
    },
    {
      title: "All of nothing",
      style: "flat",
      params: { coin: "DOC", to: "RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR", max: true },
      error: "ZeroBalanceToWithdrawMax",
    },
  ],
});
