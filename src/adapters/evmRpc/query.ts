import type { EvmAddress } from "../../core/evm/address.ts";
import { balanceOfCall } from "../../core/evm/erc20.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err } from "../../core/util/result.ts";
import type { CallRequest } from "../../ports/accountChain.ts";
import {
  type AnswerParser,
  type FeeHistoryAnswer,
  type HeaderAnswer,
  type LogAnswer,
  parseData,
  parseFeeHistory,
  parseGas,
  parseLogs,
  parseMaybeData,
  parseMaybeHeader,
  parseNonce,
  parseQuantity,
  parseReceipt,
  parseTxAnswer,
  type ReceiptAnswer,
  type TxAnswer,
} from "./answers.ts";

/**
 * One question to a node. `params` gets the form in which this node takes a block: by hash (EIP-1898) or by number.
 * Nodes agree when `vote` of their answers is the same text; without it the answers are compared whole.
 */
export type Query<T> = {
  readonly method: string;
  readonly params: (block: unknown) => readonly unknown[];
  /** What a node is asked instead that refuses those. */
  readonly plainParams?: (block: unknown) => readonly unknown[];
  readonly parse: AnswerParser<T>;
  vote?(answer: T): string;
  /** A contract may well refuse it: a refusal in any words that name a revert is the contract's, for kinds of nodes word that differently. */
  readonly mayBeReverted?: boolean;
  /** Not every node has the method: those that have it decide. */
  readonly mayLack?: boolean;
};

export const hexQuantity = (value: bigint | number): string => `0x${value.toString(16)}`;
export const hexData = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;

const fixed = <T>(method: string, params: readonly unknown[], parse: AnswerParser<T>): Query<T> => ({
  method,
  params: () => params,
  parse,
});

export const chainIdQuery: Query<bigint> = fixed("eth_chainId", [], parseQuantity);
export const gasPriceQuery: Query<bigint> = fixed("eth_gasPrice", [], parseQuantity);

export const blockQuery = (at: number | "latest" | "finalized"): Query<HeaderAnswer | null> => ({
  ...fixed("eth_getBlockByNumber", [typeof at === "number" ? hexQuantity(at) : at, false], parseMaybeHeader),
  vote: (header) => header?.hash ?? "",
});

export const balanceQuery = (owner: EvmAddress): Query<bigint> => ({
  method: "eth_getBalance",
  params: (block) => [`0x${owner}`, block],
  parse: parseQuantity,
});
export const nonceQuery = (owner: EvmAddress): Query<bigint> => ({
  method: "eth_getTransactionCount",
  params: (block) => [`0x${owner}`, block],
  parse: parseNonce,
});
export const pendingNonceQuery = (owner: EvmAddress): Query<bigint> =>
  fixed("eth_getTransactionCount", [`0x${owner}`, "pending"], parseNonce);
export const codeQuery = (contract: EvmAddress): Query<Uint8Array> => ({
  method: "eth_getCode",
  params: (block) => [`0x${contract}`, block],
  parse: parseData,
});

/** A call of a view function by nobody in particular. */
export const callQuery = (to: EvmAddress, data: Uint8Array): Query<Uint8Array> => ({
  method: "eth_call",
  params: (block) => [{ to: `0x${to}`, data: hexData(data) }, block],
  parse: parseData,
});
/** Init code that is run and not deployed; what it returns is the answer. */
export const initCodeQuery = (code: Uint8Array): Query<Uint8Array> => ({
  method: "eth_call",
  params: (block) => [{ data: hexData(code) }, block],
  parse: parseData,
});
export const tokenBalanceQuery = (token: EvmAddress, owner: EvmAddress): Query<Uint8Array> => callQuery(token, balanceOfCall(owner));

const requestObject = ({ from, to, value, data }: CallRequest) => ({
  from: `0x${from}`,
  to: `0x${to}`,
  value: hexQuantity(value),
  data: hexData(data),
});
/** What a trial is given where it is funded, wei: far more than the data of any transaction costs. */
const FUNDS = 2n ** 96n;
/** A question of what becomes of a call. @param plain its parameters, of which a block is the second */
function tried<T>(method: string, { from, isFunded }: CallRequest, plain: Query<T>["params"], parse: AnswerParser<T>): Query<T> {
  if (!isFunded) return { method, params: plain, parse };
  const funds = { [`0x${from}`]: { balance: hexQuantity(FUNDS) } };
  return {
    method,
    params: (block) => {
      const [call, at = "latest"] = plain(block);
      return [call, at, funds];
    },
    plainParams: plain,
    parse,
  };
}
/** @param gas what it may use; null: as much as the node gives */
export const trialQuery = (request: CallRequest, gas: bigint | null = null): Query<Uint8Array> => {
  const call = { ...requestObject(request), ...(gas === null ? {} : { gas: hexQuantity(gas) }) };
  return tried("eth_call", request, (block) => [call, block], parseData);
};
/** A call by nobody in particular, with other code in the place of what some addresses have. */
export const replacedCodeQuery = (to: EvmAddress, data: Uint8Array, code: string, at: readonly EvmAddress[]): Query<Uint8Array> => ({
  method: "eth_call",
  params: (block) => [
    { to: `0x${to}`, data: hexData(data) },
    block,
    Object.fromEntries(at.map((address) => [`0x${address}`, { code: `0x${code}` }])),
  ],
  parse: parseData,
});
/** At the latest block of the node: not every node takes another. */
export const estimateQuery = (request: CallRequest): Query<bigint> =>
  tried("eth_estimateGas", request, () => [requestObject(request)], parseGas);

/**
 * A receipt that says it is of another transaction is no answer. The price a transaction paid is left out of the vote: old nodes do not say it.
 * Whatever else is left out would be the word of the first node that votes like the others.
 */
export const receiptQuery = (txid: string): Query<ReceiptAnswer | null> => ({
  ...fixed("eth_getTransactionReceipt", [`0x${txid}`], (value) => {
    const read = parseReceipt(value);
    return read.ok && read.value !== null && read.value.transactionHash !== txid ? err({ detail: "it is of another transaction" }) : read;
  }),
  vote: (r) =>
    r === null
      ? ""
      : [r.blockHash, r.blockNumber, r.status, r.gasUsed, ...r.logs.map((l) => [l.address, ...l.topics, toHex(l.data)].join(","))].join(
          "/",
        ),
});
export const txQuery = (txid: string): Query<TxAnswer | null> => fixed("eth_getTransactionByHash", [`0x${txid}`], parseTxAnswer);
export const rawTxQuery = (txid: string): Query<Uint8Array | null> => fixed("eth_getRawTransactionByHash", [`0x${txid}`], parseMaybeData);

/** Logs of a contract whose first topic is one of `topics`, in these blocks, both included. */
export const logsQuery = (contract: EvmAddress, topics: readonly string[], from: number, to: number): Query<LogAnswer[]> =>
  fixed(
    "eth_getLogs",
    [{ address: `0x${contract}`, topics: [topics.map((t) => `0x${t}`)], fromBlock: hexQuantity(from), toBlock: hexQuantity(to) }],
    parseLogs,
  );

/** What the last ten blocks paid beside the base fee: three percentiles each. */
export const feeHistoryQuery: Query<FeeHistoryAnswer> = fixed("eth_feeHistory", ["0xa", "latest", [25, 50, 75]], parseFeeHistory);
