import { keccak_256 } from "@noble/hashes/sha3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { vi } from "vitest";
import { SimEvmChain } from "../../sim/world/evm/simEvmChain.ts";
import type { SimNode } from "../../sim/world/simNode.ts";
import { encodeWords } from "../../src/core/evm/abi.ts";
import { addressOfPubkey, type EvmAddress } from "../../src/core/evm/address.ts";
import { parseErc20Call } from "../../src/core/evm/erc20.ts";
import { parseEvmTx } from "../../src/core/evm/parseTx.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import { parseSwapCall, type SwapCall } from "../../src/core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../src/core/evm/tx.ts";
import { textToKeyPair } from "../../src/core/keys/iguana.ts";
import type { KeyPair } from "../../src/core/keys/keyPair.ts";
import { concatBytes, fromHex } from "../../src/core/util/bytes.ts";
import { type AccountWorld, ETH } from "./accountTrade.ts";

const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;

/** What an own transaction on the account chain does, as these tests name it. */
export type Step = "approval" | "fee" | "payment" | "claim" | "refund" | "other";

const CALLS: { readonly [K in SwapCall["kind"]]?: Step } = {
  ethPayment: "payment",
  erc20Payment: "payment",
  receiverSpend: "claim",
  senderRefund: "refund",
};

export const swapCall = ({ tx }: SignedEvmTx): SwapCall | null => {
  const call = parseSwapCall(tx.data);
  return call.ok ? call.value : null;
};

export function stepOf(signed: SignedEvmTx): Step {
  const call = swapCall(signed);
  if (call) return CALLS[call.kind] ?? "other";
  const token = parseErc20Call(signed.tx.data);
  if (token.ok) return token.value.kind === "approve" ? "approval" : "fee";
  return signed.tx.data.length === 0 && signed.tx.value > 0n ? "fee" : "other";
}

/** Calls `then` around the first broadcasts of one step by a node, up to `count` different transactions. */
export function onSend(
  node: SimNode,
  step: Step,
  then: (signed: SignedEvmTx) => void,
  when: "before" | "after" = "before",
  count = 1,
): void {
  const met = new Set<string>();
  const read = new Set<string>();
  node.onBroadcast = (ticker, at, raw) => {
    if (ticker !== ETH || at !== when || read.has(raw)) return;
    read.add(raw);
    const parsed = parseEvmTx(fromHex(raw));
    if (!parsed.ok || stepOf(parsed.value) !== step || met.has(parsed.value.txid) || met.size >= count) return;
    met.add(parsed.value.txid);
    then(parsed.value);
  };
}

/** Calls `then` right after the block that is the first to have this step of a node. */
export function onMined({ world }: AccountWorld, node: SimNode, step: Step, then: (signed: SignedEvmTx) => void): void {
  const chain = world.accountChain(ETH);
  const off = chain.onBlock(() => {
    const found = chain.tip.txs.find(({ signed }) => signed.from === node.account && stepOf(signed) === step);
    if (!found) return;
    off();
    world.clock.after(1, () => then(found.signed));
  });
}

/** Anybody may carry a claim out for its receiver: the call that does it. */
export function spendFor(claim: SignedEvmTx): Uint8Array {
  const call = swapCall(claim);
  if (call?.kind !== "receiverSpend") throw new Error("no claim");
  const { id, amount, secret, token, sender } = call;
  const words = encodeWords(
    ["bytes32", "uint256", "bytes32", "address", "address", "address"],
    [id, amount, secret, token, sender, claim.from],
  );
  return concatBytes(keccak_256(utf8ToBytes("spendFor(bytes32,uint256,bytes32,address,address,address)")).subarray(0, 4), words);
}

/** Signs and sends with any key, at a price that comes first in a block. */
export function send(
  { world }: AccountWorld,
  key: KeyPair,
  call: { readonly to: EvmAddress; readonly value?: bigint; readonly data?: Uint8Array; readonly nonce?: bigint },
): SignedEvmTx {
  const chain = world.accountChain(ETH);
  const from = addressOfPubkey(key.publicKey);
  const { to, value = 0n, data = new Uint8Array(0), nonce = chain.pendingNonce(from) } = call;
  const price = { maxFeePerGas: 5_000n * GWEI, maxPriorityFeePerGas: 500n * GWEI, accessList: [] };
  const signed = signEvmTx({ type: "eip1559", chainId: chain.chainId, nonce, gasLimit: 300_000n, to, value, data, ...price }, key);
  const answer = chain.send(signed.raw);
  if (answer.kind === "refused") throw new Error(answer.message);
  return signed;
}

/** Somebody with coins of his own who is no part of any swap. */
export function stranger({ world }: AccountWorld): KeyPair {
  const key = textToKeyPair("a stranger");
  if (!key) throw new Error("no key");
  const chain = world.accountChain(ETH);
  chain.payFromFaucet(addressOfPubkey(key.publicKey), 1_000n * ETHER);
  chain.mine();
  return key;
}

/** All nodes refuse the transaction that `isRefused` is true for. */
export function refuse(isRefused: (txid: string) => boolean): void {
  const honest = SimEvmChain.prototype.send;
  vi.spyOn(SimEvmChain.prototype, "send").mockImplementation(function (this: SimEvmChain, raw) {
    const tx = parseEvmTx(raw);
    return tx.ok && isRefused(tx.value.txid) ? { kind: "refused", message: "not this one" } : honest.call(this, raw);
  });
}

/** The first dex fee of the taker is in the pools and in no block. `forget`: no pool has it any more, and none takes it again. */
export function heldFee({ world, taker }: AccountWorld): { readonly forget: () => void } {
  let fee = "";
  let isForgotten = false;
  onSend(taker, "fee", ({ txid }) => {
    fee = txid;
    world.accountChain(ETH).held.add(txid);
  });
  refuse((txid) => isForgotten && txid === fee);
  const forget = (): void => {
    isForgotten = true;
    world.accountChain(ETH).pool.remove(fee);
  };
  return { forget };
}
