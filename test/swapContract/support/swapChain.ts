import { ripemd160 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js";
import { decodeError } from "micro-eth-signer/abi.js";
import { type Anvil, type AnvilOptions, startAnvil } from "../../support/anvil.ts";
import { type Args, artifact, type ContractName, creation, encode } from "./artifacts.ts";

export const ZERO_ADDRESS = `0x${"00".repeat(20)}`;
/** Far above what any call here needs. */
const PLENTY = 3_000_000;
/** The chain's clock when a test begins, seconds. */
export const START_SEC = 1_700_000_000;

export type Log = { readonly address: string; readonly topics: readonly string[]; readonly data: string };
/** What became of a transaction. `error`: null when it went well, else the contract's error by name, or what the chain said. */
export type Outcome = { readonly error: string | null; readonly gasUsed: number; readonly logs: readonly Log[] };
export type Call = {
  readonly from: string;
  readonly to: string;
  readonly data: string;
  readonly value?: bigint;
  readonly gas?: number;
  /** Timestamp of its block, seconds; default: one after the last. */
  readonly atSec?: number;
};
/** The terms of a payment as the interface names them. */
export type Terms = {
  readonly id: Uint8Array;
  readonly amount: bigint;
  readonly secret: Uint8Array;
  readonly token: string;
  readonly sender: string;
  readonly receiver: string;
  readonly lockTime: bigint;
};
export type Payment = { readonly paymentHash: string; readonly lockTime: bigint; readonly state: bigint };

export type SwapChain = {
  readonly anvil: Anvil;
  /** The swap contract. */
  readonly swap: string;
  /** Ten accounts. */
  readonly accounts: readonly string[];
  deploy(name: ContractName, args?: Args): Promise<string>;
  /** Sends and mines one transaction. Gas costs nothing on this chain, so that balances are exact. */
  send(call: Call): Promise<Outcome>;
  /** {@link send}, which must go well. */
  must(call: Call): Promise<Outcome>;
  read(name: ContractName, at: string, method: string, args?: Args): Promise<unknown>;
  balance(token: string, holder: string): Promise<bigint>;
  payment(id: Uint8Array): Promise<Payment>;
  /** The timestamp of the last block. */
  nowSec(): number;
  stop(): Promise<void>;
};

const hex = (n: number | bigint): string => `0x${n.toString(16)}`;
export const secretHash = (secret: Uint8Array): Uint8Array => ripemd160(sha256(secret));
/** 32 bytes of one value, all different for different values. */
export const word = (value: number): Uint8Array => sha256(Uint8Array.of(value & 255, (value >> 8) & 255));

/** The hash the contract stores: RIPEMD-160 of receiver, sender, secret hash, token and amount. Source: swap-protocol.md 5.1. */
export function paymentHash({ receiver, sender, secret, token, amount }: Terms): string {
  const parts = [receiver.slice(2), sender.slice(2), bytesToHex(secretHash(secret)), token.slice(2), amount.toString(16).padStart(64, "0")];
  return `0x${bytesToHex(ripemd160(concatBytes(...parts.map((part) => hexToBytes(part)))))}`;
}

/** The call that locks a payment, by its sender. */
export function payCall(swap: string, { id, amount, secret, token, sender, receiver, lockTime }: Terms): Call {
  const terms = { id, receiver, secretHash: secretHash(secret), lockTime };
  if (token === ZERO_ADDRESS) return { from: sender, to: swap, value: amount, data: encode("SwapnodeSwap", "ethPayment", terms) };
  return { from: sender, to: swap, data: encode("SwapnodeSwap", "erc20Payment", { ...terms, amount, token }) };
}

export type Mover = "receiverSpend" | "spendFor" | "senderRefund" | "refundFor";

/** The call that ends a payment; `from` defaults to whom the interface means, for the `For` forms to somebody else. */
export function moveCall(swap: string, mover: Mover, terms: Terms, from?: string): Call {
  const { id, amount, secret, token, sender, receiver } = terms;
  const both = { id, amount, token };
  const hash = secretHash(secret);
  const args: { readonly [M in Mover]: Args } = {
    receiverSpend: { ...both, secret, sender },
    spendFor: { ...both, secret, sender, receiver },
    senderRefund: { ...both, secretHash: hash, receiver },
    refundFor: { ...both, secretHash: hash, sender, receiver },
  };
  const caller = mover.startsWith("receiver") || mover === "spendFor" ? receiver : sender;
  return { from: from ?? caller, to: swap, data: encode("SwapnodeSwap", mover, args[mover]) };
}

/** Starts a chain with the swap contract on it. */
export async function openSwapChain(options: AnvilOptions = {}): Promise<SwapChain> {
  const anvil = await startAnvil({
    timestampSec: START_SEC,
    noMining: true,
    ...options,
    args: ["--block-base-fee-per-gas", "0", ...(options.args ?? [])],
  });
  let nowSec = START_SEC;

  const mine = async ({ from, to, data, value = 0n, gas = PLENTY, atSec = nowSec + 1 }: Omit<Call, "to"> & { readonly to?: string }) => {
    const tx = { from, ...(to === undefined ? {} : { to }), data, value: hex(value), gas: hex(gas), gasPrice: "0x0" };
    const txid = await anvil.call("eth_sendTransaction", [tx]);
    // A block that comes by itself may come after a snapshot that should have it, or never after a revert.
    await anvil.call("evm_mine", [atSec]);
    nowSec = atSec;
    return (await anvil.call("eth_getTransactionReceipt", [txid])) as Receipt;
  };

  const send = async (call: Call): Promise<Outcome> => {
    const receipt = await mine(call);
    const error = receipt.status === "0x1" ? null : await failure(anvil, receipt);
    return { error, gasUsed: Number(receipt.gasUsed), logs: receipt.logs };
  };

  const deploy = async (name: ContractName, args?: Args): Promise<string> => {
    const receipt = await mine({ from: anvil.accounts[9]?.address ?? "", data: creation(name, args), gas: 5_000_000 });
    if (receipt.status !== "0x1" || receipt.contractAddress === null) throw new Error(`${name} was not deployed`);
    return receipt.contractAddress;
  };

  const read = async (name: ContractName, at: string, method: string, args?: Args): Promise<unknown> => {
    const result = await anvil.call("eth_call", [{ to: at, data: encode(name, method, args) }, "latest"]);
    return artifact(name).methods[method]?.decodeOutput(hexToBytes(String(result).slice(2)));
  };

  try {
    const swap = await deploy("SwapnodeSwap");
    return {
      anvil,
      swap,
      accounts: anvil.accounts.map(({ address }) => address),
      deploy,
      send,
      async must(call) {
        const outcome = await send(call);
        if (outcome.error !== null) throw new Error(`refused: ${outcome.error}`);
        return outcome;
      },
      read,
      async balance(token, holder) {
        if (token === ZERO_ADDRESS) return BigInt(String(await anvil.call("eth_getBalance", [holder, "latest"])));
        return (await read("TestToken", token, "balanceOf", holder)) as bigint;
      },
      async payment(id) {
        const found = (await read("SwapnodeSwap", swap, "payments", id)) as Omit<Payment, "paymentHash"> & { paymentHash: Uint8Array };
        return { ...found, paymentHash: `0x${bytesToHex(found.paymentHash)}` };
      },
      nowSec: () => nowSec,
      stop: () => anvil.stop(),
    };
  } catch (cause) {
    await anvil.stop();
    throw cause;
  }
}

type Receipt = {
  readonly status: string;
  readonly gasUsed: string;
  readonly logs: readonly Log[];
  readonly contractAddress: string | null;
  readonly transactionHash: string;
};

/** Why a transaction failed: the name of the contract's error, `empty` for one without data, else the machine's word for it. */
async function failure(anvil: Anvil, { transactionHash }: Receipt): Promise<string> {
  const trace = (await anvil.call("debug_traceTransaction", [transactionHash, { tracer: "callTracer" }])) as {
    readonly output?: string;
    readonly error?: string;
  };
  if (trace.output === undefined || trace.output === "0x")
    return trace.error === "execution reverted" ? "empty" : (trace.error ?? "unknown");
  return errorName(trace.output.slice(2));
}

/** The name of an error of ours from what a failed call gave back (hex without `0x`); the data itself where it is none. */
export function errorName(data: string): string {
  return decodeError(`0x${data}`, [...artifact("SwapnodeSwap").abi, ...artifact("SilentToken").abi])?.name ?? `0x${data}`;
}
