import { SimEvmChain, type SimEvmOptions, simAddress } from "../../sim/world/evm/simEvmChain.ts";
import type { TokenManners } from "../../sim/world/evm/simToken.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { addressOfPubkey, type EvmAddress, ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { approveCall, transferCall } from "../../src/core/evm/erc20.ts";
import type { GasBid } from "../../src/core/evm/gas.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import { encodeSwapCall, paymentId } from "../../src/core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../src/core/evm/tx.ts";
import { textToKeyPair } from "../../src/core/keys/iguana.ts";
import type { KeyPair } from "../../src/core/keys/keyPair.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";

export const GWEI = 1_000_000_000n;
export const ETHER = 10n ** 18n;
export const CHAIN_ID = 77n;
export const SWAP = simAddress("swap contract");
export const PLAIN = simAddress("a plain token");
export const SILENT = simAddress("a silent token");
export const FALSY = simAddress("a token that answers false");
export const TOKENS: readonly TokenManners[] = [
  { address: PLAIN, decimals: 6 },
  { address: SILENT, decimals: 6, answers: "nothing", resetFirst: true },
  { address: FALSY, decimals: 18, failsBy: "false" },
];
export const SECRET = new Uint8Array(32).fill(0x11);
export const HASH = hash160(SECRET);

export type Party = { readonly name: string; readonly key: KeyPair; readonly address: EvmAddress };

export function party(name: string): Party {
  const key = textToKeyPair(`party ${name}`);
  if (key === null) throw new Error("no key");
  return { name, key, address: addressOfPubkey(key.publicKey) };
}

export type Sending = {
  readonly to?: EvmAddress | null;
  readonly value?: bigint;
  readonly data?: Uint8Array;
  readonly gasLimit?: bigint;
  readonly nonce?: bigint;
  readonly bid?: GasBid;
  readonly chainId?: bigint;
};

export const bid = (maxGwei: bigint, tipGwei = 1n): GasBid => ({
  kind: "eip1559",
  maxFeePerGas: maxGwei * GWEI,
  maxPriorityFeePerGas: tipGwei * GWEI,
});

/** Terms of a payment in a test; `token` zero: the native coin. */
export type Deal = {
  readonly from: Party;
  readonly to: Party;
  readonly amount: bigint;
  readonly token: EvmAddress;
  readonly lockTime: bigint;
};

/** A chain with three rich parties, on a virtual clock. */
export class EvmTable {
  readonly clock = new VirtualClock(1_700_000_000_000);
  readonly chain: SimEvmChain;
  readonly maker = party("maker");
  readonly taker = party("taker");
  readonly thief = party("thief");

  constructor(options: Partial<SimEvmOptions> = {}) {
    this.chain = new SimEvmChain({ ticker: "ETH", chainId: CHAIN_ID, clock: this.clock, tokens: TOKENS, ...options });
    for (const { address } of [this.maker, this.taker, this.thief]) {
      this.chain.payFromFaucet(address, 1_000n * ETHER);
      for (const token of this.chain.tokens.keys()) this.chain.payFromFaucet(token, 0n, transferCall(address, 10n ** 12n));
    }
    this.chain.mine();
  }

  get nowSec(): bigint {
    return BigInt(Math.floor(this.clock.nowMs() / 1_000));
  }

  signed(from: Party, sending: Sending): SignedEvmTx {
    const { to = this.taker.address, value = 0n, data = new Uint8Array(0), gasLimit = 300_000n, chainId = CHAIN_ID } = sending;
    const { nonce = this.chain.pendingNonce(from.address), bid: price = bid(100n) } = sending;
    const common = { chainId, nonce, gasLimit, to, value, data };
    if (price.kind === "legacy") return signEvmTx({ type: "legacy", ...common, gasPrice: price.gasPrice }, from.key);
    const { maxFeePerGas, maxPriorityFeePerGas } = price;
    return signEvmTx({ type: "eip1559", ...common, maxFeePerGas, maxPriorityFeePerGas, accessList: [] }, from.key);
  }

  /** Sent, and taken. */
  send(from: Party, sending: Sending): SignedEvmTx {
    const tx = this.signed(from, sending);
    const answer = this.chain.send(tx.raw);
    if (answer.kind !== "taken") throw new Error(`not taken: ${JSON.stringify(answer)}`);
    return tx;
  }

  /** Sent and mined. @returns whether it went well */
  did(from: Party, sending: Sending): boolean {
    const { txid } = this.send(from, sending);
    this.chain.mine();
    const receipt = this.chain.find(txid)?.receipt;
    if (!receipt) throw new Error("not mined");
    return receipt.succeeded;
  }

  // Calls of the swap contract.

  idOf(deal: Deal): Uint8Array {
    return paymentId(Number(deal.lockTime), HASH);
  }
  key(deal: Deal): { readonly contract: EvmAddress; readonly id: string } {
    return { contract: SWAP, id: toHex(this.idOf(deal)) };
  }
  pay({ to, amount, token, lockTime }: Deal): Sending {
    const id = paymentId(Number(lockTime), HASH);
    const common = { id, receiver: to.address, secretHash: HASH, lockTime };
    return token === ZERO_ADDRESS
      ? { to: SWAP, value: amount, data: encodeSwapCall({ kind: "ethPayment", ...common }) }
      : { to: SWAP, data: encodeSwapCall({ kind: "erc20Payment", ...common, token, amount }) };
  }
  claim(deal: Deal, secret = SECRET): Sending {
    const { amount, token } = deal;
    const sender = deal.from.address;
    return { to: SWAP, data: encodeSwapCall({ kind: "receiverSpend", id: this.idOf(deal), amount, secret, token, sender }) };
  }
  refund(deal: Deal): Sending {
    const { amount, token } = deal;
    const receiver = deal.to.address;
    return { to: SWAP, data: encodeSwapCall({ kind: "senderRefund", id: this.idOf(deal), amount, secretHash: HASH, token, receiver }) };
  }
  approve(token: EvmAddress, amount: bigint): Sending {
    return { to: token, data: approveCall(SWAP, amount) };
  }
  state(deal: Deal): string {
    return this.chain.payment(SWAP, toHex(this.idOf(deal))).state;
  }
}

/** A call by its selector and whole words. */
export const callOf = (selector: string, ...words: readonly string[]): Uint8Array =>
  fromHex(selector + words.map((w) => w.padStart(64, "0")).join(""));
