import { decodeWords } from "../../core/evm/abi.ts";
import { type EvmAddress, ZERO_ADDRESS } from "../../core/evm/address.ts";
import { SWAPNODE_SWAP_RUNTIME_CODE } from "../../core/evm/contract/swapnodeSwap.ts";
import { TRANSFER_PROBE_RUNTIME_CODE } from "../../core/evm/contract/transferProbe.ts";
import { allowanceCall, DECIMALS_CALL } from "../../core/evm/erc20.ts";
import { encodeSwapCall, paymentsCall } from "../../core/evm/swapContract.ts";
import { swapRevertReason } from "../../core/evm/swapRevert.ts";
import { parseRoundTrip, roundTripCall } from "../../core/evm/transferProbe.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { CallRequest, ChainReadError, TokenTrip } from "../../ports/accountChain.ts";
import { middleEstimate } from "./dataCostReader.ts";
import { lookFaultText } from "./fault.ts";
import { noCode, otherInterface, recordOf } from "./paymentReader.ts";
import { callQuery, codeQuery, estimateQuery, type Query, replacedCodeQuery, trialQuery } from "./query.ts";
import { type Quorum, quorumRead, type ReadFault } from "./quorum.ts";

/** More decimal places make no coin; the coins file has the same limit. */
const MAX_DECIMALS = 30n;
const MAX_REASON = 300;

/** Questions somebody asks and waits for, at the block of the last look. */
export type ContractReads = { readonly ticker: string; readonly quorum: Quorum; readonly signal: AbortSignal };
type Answered<T> = Promise<Result<T, ChainReadError>>;

function toReadError(ticker: string, fault: ReadFault): ChainReadError {
  switch (fault.kind) {
    case "reverted": {
      // Nodes show a custom error as they like, some as raw bytes.
      const reason = swapRevertReason(fault.data) ?? fault.message.replace(/\p{Cc}+/gu, " ").slice(0, MAX_REASON);
      const message = `The ${ticker} chain would refuse the transaction: ${reason}.`;
      return { kind: "Reverted", data: fault.data, message };
    }
    case "refused":
      return { kind: "Refused", message: `The ${ticker} nodes refused the request: ${fault.message.slice(0, MAX_REASON)}.` };
    default:
      return { kind: "Unreachable", message: lookFaultText(ticker, fault), isDisputed: fault.kind === "disagree" };
  }
}

async function ask<T>({ ticker, quorum, signal }: ContractReads, query: Query<T>): Answered<T> {
  const [read] = await quorumRead(quorum, [query], signal);
  if (read === undefined) return err({ kind: "Unreachable", message: lookFaultText(ticker, { kind: "no_nodes", troubles: [] }) });
  return read.ok ? read : err(toReadError(ticker, read.error));
}

/** One word from a token. A token that reverts here has another interface. */
async function askToken(reads: ContractReads, token: EvmAddress, data: Uint8Array, what: string): Answered<bigint> {
  const answer = await ask(reads, callQuery(token, data));
  const other = (): Result<never, ChainReadError> =>
    err(otherInterface(reads.ticker, token, `is no ERC-20 token: it does not answer ${what}`));
  if (!answer.ok) return answer.error.kind === "Reverted" ? other() : answer;
  if (answer.value.length === 0) {
    const code = await ask(reads, codeQuery(token));
    if (!code.ok) return code;
    return code.value.length === 0 ? err(noCode(reads.ticker, token)) : other();
  }
  const word = decodeWords(answer.value, ["uint256"]);
  return word.ok ? ok(word.value[0]) : other();
}

export async function readDecimals(reads: ContractReads, token: EvmAddress): Answered<number> {
  const decimals = await askToken(reads, token, DECIMALS_CALL, "decimals()");
  if (!decimals.ok) return decimals;
  if (decimals.value <= MAX_DECIMALS) return ok(Number(decimals.value));
  return err(otherInterface(reads.ticker, token, `says it has ${decimals.value} decimal places, more than ${MAX_DECIMALS}`));
}

/** Most are answered by one request; what a token answers oddly is asked again, for the reason. */
export async function readManyDecimals(
  reads: ContractReads,
  tokens: readonly EvmAddress[],
): Answered<readonly Result<number, ChainReadError>[]> {
  const answers = await quorumRead(
    reads.quorum,
    tokens.map((token) => callQuery(token, DECIMALS_CALL)),
    reads.signal,
  );
  const decimals: Result<number, ChainReadError>[] = [];
  for (const [i, token] of tokens.entries()) {
    const answer = answers[i];
    const word = answer?.ok ? decodeWords(answer.value, ["uint256"]) : null;
    const told = word?.ok && word.value[0] <= MAX_DECIMALS ? ok(Number(word.value[0])) : await readDecimals(reads, token);
    if (!told.ok && told.error.kind === "Unreachable") return told;
    decimals.push(told);
  }
  return ok(decimals);
}

export function readAllowance(reads: ContractReads, token: EvmAddress, owner: EvmAddress, spender: EvmAddress): Answered<bigint> {
  return askToken(reads, token, allowanceCall(owner, spender), "allowance(address,address)");
}

/** An id nobody has: it is no hash of anything. */
const UNUSED_ID = new Uint8Array(32).fill(0xa5);

/**
 * A contract with code, that answers `payments` of an unused id with zeros, and that refuses a claim and a refund of what it
 * never got: one that takes any call would pass for a swap contract and keep the money.
 */
export async function checkSwapContract(reads: ContractReads, contract: EvmAddress): Answered<undefined> {
  const { ticker, quorum, signal } = reads;
  const common = { id: UNUSED_ID, amount: 1n, token: ZERO_ADDRESS };
  const claim = encodeSwapCall({ kind: "receiverSpend", ...common, secret: UNUSED_ID, sender: ZERO_ADDRESS });
  const refund = encodeSwapCall({ kind: "senderRefund", ...common, secretHash: UNUSED_ID.subarray(0, 20), receiver: ZERO_ADDRESS });
  const queries = [codeQuery(contract), ...[paymentsCall(UNUSED_ID), claim, refund].map((data) => callQuery(contract, data))];
  const [code, state, ...refusals] = await quorumRead(quorum, queries, signal);
  if (code === undefined || state === undefined) throw new Error("a question without an answer");
  if (!code.ok) return err(toReadError(ticker, code.error));
  if (code.value.length === 0) return err(noCode(ticker, contract));
  const record = recordOf(ticker, contract, state);
  if (!record.ok) {
    const { error } = record;
    return err(error.kind === "OtherInterface" || error.kind === "NoCode" ? error : toReadError(ticker, error));
  }
  for (const refusal of refusals) {
    if (refusal.ok) return err(otherInterface(ticker, contract, "is not a swap contract: it takes claims of payments that do not exist"));
    // Some nodes have words of their own for a contract's refusal; one that looks at nothing now has asked no contract.
    const { error } = refusal;
    if (error.kind !== "reverted" && (error.kind !== "refused" || error.isForNow)) return err(toReadError(ticker, error));
  }
  return ok(undefined);
}

export async function readHasCode(reads: ContractReads, address: EvmAddress): Answered<boolean> {
  const code = await ask(reads, codeQuery(address));
  return code.ok ? ok(code.value.length > 0) : code;
}

export async function readIsOwnSwapContract(reads: ContractReads, contract: EvmAddress): Answered<boolean> {
  const code = await ask(reads, codeQuery(contract));
  return code.ok ? ok(toHex(code.value) === SWAPNODE_SWAP_RUNTIME_CODE) : code;
}

/** A call that moves a token with the probe's code (contracts/TransferProbe.sol) in the place of both ends. */
export async function readTokenTrip(
  reads: ContractReads,
  token: EvmAddress,
  owner: EvmAddress,
  contract: EvmAddress,
  amount: bigint,
): Answered<TokenTrip> {
  const answer = await ask(
    reads,
    replacedCodeQuery(owner, roundTripCall(token, contract, amount), TRANSFER_PROBE_RUNTIME_CODE, [owner, contract]),
  );
  if (!answer.ok) return answer;
  const trip = parseRoundTrip(answer.value);
  // A node that overlooks the replaced code answers for an account without any.
  return trip.ok
    ? trip
    : err({ kind: "Refused", message: `The ${reads.ticker} nodes do not carry out calls with replaced code (state overrides).` });
}

/** @param gas see `trialQuery` */
export function tryCall(reads: ContractReads, request: CallRequest, gas: bigint | null): Answered<Uint8Array> {
  return ask(reads, trialQuery(request, gas));
}

/**
 * The middle one of what all nodes say, of an even number the higher of the two: with too little gas the transaction fails and
 * costs its fee, and too much of it is not paid, but must be there. A refusal counts when a majority refuses. Nodes without the method
 * leave it to the others; where these are fewer than must agree, as many as must try the call.
 * @param most a figure above it is a refusal to who asks: it counts where as many say so as must agree
 */
export async function readGasEstimate(reads: ContractReads, request: CallRequest, most: bigint | null = null): Answered<bigint> {
  const { ticker, quorum } = reads;
  const { query, told, middle, contested } = middleEstimate(estimateQuery(request), most);
  const [read] = await quorumRead(quorum, [{ ...query, mayLack: true }], reads.signal, quorum.nodes.length);
  if (read?.ok) {
    const gas = middle() ?? read.value;
    if (told.length < quorum.need) return fewSay(reads, request, told.length, most === null || gas <= most ? gas : null);
    const fault = contested(quorum);
    return fault ? err(toReadError(ticker, fault)) : ok(gas);
  }
  if (read?.error.kind === "reverted" && read.error.votes < quorum.need) return fewSay(reads, request, read.error.votes, null);
  return err(toReadError(ticker, read?.error ?? { kind: "no_nodes", troubles: [] }));
}

/**
 * What fewer nodes than must agree say of a call's gas is true where as many as must carry it out with that much; that it would be refused,
 * where so many refuse it, whatever gas it has. Else it is not known: one of them could keep a claim at home until it is too late.
 * @param gas null: they say that it would be refused, or need more than is taken
 */
async function fewSay(reads: ContractReads, request: CallRequest, have: number, gas: bigint | null): Answered<bigint> {
  const { ticker, quorum } = reads;
  if (gas !== null && (await ask(reads, trialQuery(request, gas))).ok) return ok(gas);
  const tried = await ask(reads, trialQuery(request));
  if (!tried.ok) return tried;
  const fault = { kind: "too_few", what: "the answer to eth_estimateGas", have, need: quorum.need, troubles: [] } as const;
  return err({ kind: "Unreachable", message: lookFaultText(ticker, fault) });
}
