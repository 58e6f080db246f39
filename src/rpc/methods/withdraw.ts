import { z } from "zod";
import type { WithdrawError, WithdrawRequest } from "../../app/coin/withdraw.ts";
import { lt, sub, toDecimalString, ZERO } from "../../core/money/rational.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { defaulted, flag, optional, type Read, text } from "../field.ts";
import { isJsonObject } from "../jsonNumber.ts";
import { readDecimal } from "../mmNumber.ts";
import { decimalText } from "../money.ts";
import { found, MISSING, unknownVariant, wrongType } from "../serdeText.ts";

const FEE_TYPES = ["UtxoFixed", "UtxoPerKbyte", "EthGas", "Qrc20Gas", "CosmosGas", "EthGasEip1559"];
type FeePolicy = NonNullable<WithdrawRequest["fee"]> | { readonly kind: "foreign"; readonly type: string };

const readFee: Read<FeePolicy> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "internally tagged enum WithdrawFee"));
  const type: unknown = "type" in value ? value.type : undefined;
  if (type === undefined) return err(`${MISSING} \`type\``);
  if (typeof type !== "string") return err(wrongType(type, "variant identifier"));
  if (!FEE_TYPES.includes(type)) return err(unknownVariant(type, FEE_TYPES));
  if (type !== "UtxoFixed" && type !== "UtxoPerKbyte") return ok({ kind: "foreign", type });
  if (!("amount" in value)) return err(`${MISSING} \`amount\``);
  const amount = readDecimal(value.amount);
  return amount.ok ? ok({ kind: type === "UtxoFixed" ? "fixed" : "perKbyte", amount: amount.value }) : amount;
};

/** Any value: the presence alone matters. */
const readPresence: Read<string> = (value) => ok(found(value));

const result = z.object({
  tx_hex: z.string().describe("The signed transaction; send it with `send_raw_transaction`."),
  tx_hash: z.string(),
  from: z.array(z.string()),
  to: z.array(z.string()),
  total_amount: decimalText.describe("Sum of the inputs."),
  spent_by_me: decimalText,
  received_by_me: decimalText,
  my_balance_change: decimalText,
  block_height: z.number(),
  timestamp: z.number().describe("Unix seconds."),
  fee_details: z.object({ type: z.literal("Utxo"), coin: z.string(), amount: decimalText }),
  coin: z.string(),
  internal_id: z.string(),
  transaction_type: z.literal("StandardTransfer"),
  memo: z.null(),
});

type Failure =
  | WithdrawError
  | NoSuchCoin
  | { readonly kind: "UnexpectedFromAddress" }
  | { readonly kind: "InvalidFeePolicy"; readonly reason: string };

export const withdraw = defineMethod<Failure>()({
  name: "withdraw",
  style: "both",
  flatReply: "bare",
  struct: "WithdrawRequest",
  summary: "Build and sign a payment. It is sent only with `broadcast: true`, or by `send_raw_transaction`.",
  source: "reference rpc.md 5.1",
  params: z.object({
    coin: text(),
    to: text().describe("Address of the receiver."),
    amount: defaulted(readDecimal, ZERO, { type: ["string", "number"] }).describe("Whole coins; no rational forms."),
    max: flag(false).describe("Send everything, the fee taken off."),
    fee: optional(readFee, {
      type: "object",
      properties: { type: { enum: ["UtxoFixed", "UtxoPerKbyte"] }, amount: { type: ["string", "number"] } },
      required: ["type", "amount"],
    }).describe("A fixed fee, or a rate per 1000 bytes, in whole coins. Default: the coin's own rule."),
    from: optional(readPresence, {}).describe("Refused: a coin has one address here."),
    broadcast: flag(false).describe("Also send it."),
  }),
  result,
  async handle(p, ctx, { signal }): Promise<Result<z.input<typeof result>, Failure>> {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    if (p.from !== undefined) return err({ kind: "UnexpectedFromAddress" });
    if (p.fee?.kind === "foreign")
      return err({ kind: "InvalidFeePolicy", reason: `Expected 'UtxoFixed' or 'UtxoPerKbyte' fee type, found ${p.fee.type}` });
    if (p.fee && lt(p.fee.amount, ZERO))
      return err({ kind: "InvalidFeePolicy", reason: `the fee ${toDecimalString(p.fee.amount)} must not be negative` });
    const request = { to: p.to, amount: p.max ? ("max" as const) : p.amount, fee: p.fee, broadcast: p.broadcast };
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
      fee_details: { type: "Utxo", coin: p.coin, amount: toDecimalString(w.fee) },
      coin: p.coin,
      internal_id: "",
      transaction_type: "StandardTransfer",
      memo: null,
    });
  },
  errors: {
    NoSuchCoin: noSuchCoin(false),
    NotSufficientBalance: {
      http: 400,
      when: "The balance does not cover amount and fee.",
      text: ({ coin, available, required }) =>
        `Not enough ${coin} to withdraw: available ${toDecimalString(available)}, required at least ${toDecimalString(required)}`,
      data: ({ coin, available, required }) => ({ coin, available: toDecimalString(available), required: toDecimalString(required) }),
    },
    ZeroBalanceToWithdrawMax: { http: 400, when: "`max` with an empty balance.", text: () => "Balance is zero" },
    AmountTooLow: {
      http: 400,
      when: "The amount is below the coin's dust.",
      text: ({ amount, threshold }) =>
        `The amount ${toDecimalString(amount)} is too small, required at least ${toDecimalString(threshold)}`,
      data: ({ amount, threshold }) => ({ amount: toDecimalString(amount), threshold: toDecimalString(threshold) }),
    },
    InvalidAddress: {
      http: 400,
      when: "`to` is no address of this coin.",
      text: ({ reason }) => `Invalid address: ${reason}`,
      data: ({ reason }) => reason,
    },
    InvalidFeePolicy: {
      http: 400,
      when: "`fee` belongs to another kind of coin, or is negative.",
      text: ({ reason }) => `Invalid fee policy: ${reason}`,
      data: ({ reason }) => reason,
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
      when: "The daemon gave no answer; the transaction may have been sent.",
      text: (e) => `Transport error: ${e.message}`,
      data: (e) => e.message,
    },
  },
  examples: [
    {
      title: "Send 1 DOC",
      style: "v2",
      params: { coin: "DOC", to: "RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR", amount: "1" },
      result: {
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
      },
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
