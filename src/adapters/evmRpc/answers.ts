import { z } from "zod";
import { parseAnyCaseAddress } from "../../core/evm/address.ts";
import { TRANSFER_TOPIC } from "../../core/evm/erc20.ts";
import { SWAP_TOPICS } from "../../core/evm/swapContract.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";

// What the methods of an Ethereum node answer (Ethereum execution API specification). Texts come out as lower-case hex
// without `0x`, numbers as bigint or, where they are heights and times, as number.

/** Why a value is not what the method answers. Never holds the value itself: it may be large. */
export type BadAnswer = { readonly detail: string };
export type AnswerParser<T> = (value: unknown) => Result<T, BadAnswer>;

/** Logs of one answer; a node that sends more is asked for fewer blocks. */
const MAX_LOGS = 10_000;
/** Events of swap contracts in one transaction: all the gas one may use (EIP-7825) is not enough for as many. */
const MAX_RECEIPT_LOGS = 40_000;
const MAX_TOPICS = 4;
const SWAP_TOPIC_TEXTS: ReadonlySet<string> = new Set(Object.values(SWAP_TOPICS).map((topic) => `0x${topic}`));
/** Largest calldata, result or signed transaction read, bytes. */
const MAX_DATA_BYTES = 1_000_000;
/** Heights and times beyond this are nonsense and would not be exact. */
const MAX_NUMBER = 1_000_000_000_000n;
/** EIP-2681: a transaction with a higher nonce is none, and one that was signed and kept could not be read again. */
const MAX_NONCE = 2n ** 64n - 2n;
const MAX_FEE_BLOCKS = 1_024;
const MAX_ACCESS_ENTRIES = 10_000;
/** Of what a schema says is wrong. */
const MAX_DETAIL = 200;

const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text));
const number = quantity.refine((value) => value <= MAX_NUMBER, "a number too large").transform(Number);
const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.slice(2).toLowerCase());
const data = (maxBytes: number) =>
  z
    .string()
    .max(2 + 2 * maxBytes)
    .regex(/^0x(?:[0-9a-fA-F]{2})*$/)
    .transform((text) => fromHex(text.slice(2)));
const address = z.string().transform((text, ctx) => {
  const parsed = parseAnyCaseAddress(text);
  if (parsed.ok) return parsed.value;
  ctx.addIssue({ code: "custom", message: "not an address" });
  return z.NEVER;
});

const header = z.object({
  number,
  hash,
  parentHash: hash,
  timestamp: number,
  gasUsed: quantity,
  gasLimit: quantity,
  baseFeePerGas: quantity.nullish().transform((fee) => fee ?? null),
});
export type HeaderAnswer = z.infer<typeof header>;

const log = z.object({
  address,
  topics: z.array(hash).max(MAX_TOPICS),
  data: data(MAX_DATA_BYTES),
  blockNumber: number,
  blockHash: hash,
  transactionHash: hash,
  removed: z.boolean().nullish(),
});
export type LogAnswer = z.infer<typeof log>;

/** Topics and address of a log nobody has looked at, in lower case; what is no text is left out. */
function rawLog(value: unknown): { readonly topics: readonly string[]; readonly address: string } {
  const { topics, address }: { topics?: unknown; address?: unknown } = typeof value === "object" && value !== null ? value : {};
  const texts = Array.isArray(topics) ? topics.slice(0, MAX_TOPICS).filter((topic) => typeof topic === "string") : [];
  return { topics: texts.map((topic) => topic.toLowerCase()), address: typeof address === "string" ? address.toLowerCase() : "" };
}

/**
 * Logs of swap contracts, and of tokens that came to one which opened a payment in the same transaction. Whoever claims may fill its
 * transaction with other logs: they are passed over, however many there are.
 */
function wantedLogs(logs: readonly unknown[]): unknown[] {
  const paid = new Set<string>();
  for (const value of logs) {
    const { topics, address } = rawLog(value);
    if (topics[0] === `0x${SWAP_TOPICS.sent}`) paid.add(`0x${address.slice(2).padStart(64, "0")}`);
  }
  return logs.filter((value) => {
    const { topics } = rawLog(value);
    const [first = "", , to = ""] = topics;
    return SWAP_TOPIC_TEXTS.has(first) || (first === `0x${TRANSFER_TOPIC}` && topics.length === 3 && paid.has(to));
  });
}

const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: number,
  status: quantity.refine((status) => status <= 1n, "no status").transform((status) => status === 1n),
  gasUsed: quantity,
  effectiveGasPrice: quantity.nullish().transform((price) => price ?? null),
  /** See `wantedLogs`. */
  logs: z.array(z.unknown()).transform(wantedLogs).pipe(z.array(log).max(MAX_RECEIPT_LOGS)),
});
export type ReceiptAnswer = z.infer<typeof receipt>;

const accessList = z
  .array(z.object({ address, storageKeys: z.array(hash).max(MAX_ACCESS_ENTRIES) }))
  .max(MAX_ACCESS_ENTRIES)
  .nullish();
const tx = z.object({
  hash,
  type: number.nullish(),
  chainId: quantity.nullish(),
  nonce: quantity,
  gas: quantity,
  gasPrice: quantity.nullish(),
  maxFeePerGas: quantity.nullish(),
  maxPriorityFeePerGas: quantity.nullish(),
  to: address.nullish(),
  value: quantity,
  input: data(MAX_DATA_BYTES),
  accessList,
  v: quantity.nullish(),
  yParity: quantity.nullish(),
  r: quantity,
  s: quantity,
});
export type TxAnswer = z.infer<typeof tx>;

const feeHistory = z.object({
  baseFeePerGas: z.array(quantity).max(MAX_FEE_BLOCKS).nullish(),
  reward: z.array(z.array(quantity).length(3)).max(MAX_FEE_BLOCKS).nullish(),
});
export type FeeHistoryAnswer = z.infer<typeof feeHistory>;

function reader<S extends z.ZodType>(schema: S): AnswerParser<z.output<S>> {
  return (value) => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return ok(parsed.data);
    const [issue] = parsed.error.issues;
    const where = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
    return err({ detail: `${where}${issue?.message ?? "unreadable"}`.slice(0, MAX_DETAIL) });
  };
}

export const parseQuantity = reader(quantity);
export const parseNonce = reader(quantity.refine((nonce) => nonce <= MAX_NONCE, "a nonce too large"));
/** More than any block holds is nonsense. */
export const parseGas = reader(quantity.refine((gas) => gas <= MAX_NUMBER, "more gas than there can be"));
/** Null: there is no such block. */
export const parseMaybeHeader = reader(header.nullable());
/** Null: not in a block the node knows. */
export const parseReceipt = reader(receipt.nullable());
/** Null: the node does not know it. */
export const parseTxAnswer = reader(tx.nullable());
export const parseLogs = reader(z.array(log).max(MAX_LOGS));
export const parseFeeHistory = reader(feeHistory);
export const parseData = reader(data(MAX_DATA_BYTES));
export const parseMaybeData = reader(data(MAX_DATA_BYTES).nullable());
export const parseTxHash = reader(hash);
