import { decodeWords, encodeWords } from "../../../core/evm/abi.ts";
import { addressFromBytes, addressOfPubkey, type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { contractSecretHash, paymentHash, paymentId } from "../../../core/evm/swapContract.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import type { PaymentKey } from "../../../ports/accountChain.ts";
import type { Contract } from "../../swap/swapCoin.ts";

/** A swap's payment as the swap contract knows it. */
export type PaymentTerms = {
  readonly contract: EvmAddress;
  /** 32 bytes. */
  readonly id: Uint8Array;
  /** `ZERO_ADDRESS`: the platform coin. */
  readonly token: EvmAddress;
  readonly sender: EvmAddress;
  readonly receiver: EvmAddress;
  /** 20 bytes. */
  readonly secretHash: Uint8Array;
  /** Unix seconds. */
  readonly lockTime: bigint;
  /** Base units. */
  readonly units: bigint;
};

/** @param token null: the platform coin. Throws where no swap contract was agreed on: negotiation gives none to coins of scripts alone */
export function paymentTerms(contract: Contract, token: EvmAddress | null): PaymentTerms {
  if (contract.swapContract === null) throw new Error("no swap contract was agreed on");
  return {
    contract: addressFromBytes(fromHex(contract.swapContract)),
    id: paymentId(contract.lock, contract.secretHash),
    token: token ?? ZERO_ADDRESS,
    sender: addressOfPubkey(contract.refundKey),
    receiver: addressOfPubkey(contract.claimKey),
    secretHash: contractSecretHash(contract.secretHash),
    lockTime: BigInt(contract.lock),
    units: contract.units,
  };
}

/** What a payment on the chain is compared with. */
export type AgreedPayment = {
  readonly key: PaymentKey;
  /** The contract's hash of all that was agreed on (swap-protocol.md 5.1), 20 bytes. */
  readonly paymentHash: Uint8Array;
  /** Unix seconds. */
  readonly lockTime: bigint;
  /** Base units. */
  readonly units: bigint;
  /** `ZERO_ADDRESS`: the platform coin. */
  readonly token: EvmAddress;
  readonly sender: EvmAddress;
};

const WORDS = ["address", "bytes32", "bytes20", "uint64", "uint256", "address", "address"] as const;

/** The bytes that stand for a payment where swaps ask for a script. They are made and read here alone, and never leave this node. */
export function paymentScript({ contract, id, token, sender, receiver, secretHash, lockTime, units }: PaymentTerms): Uint8Array {
  const hash = paymentHash({ receiver, sender, secretHash, token, amount: units });
  return encodeWords(WORDS, [contract, id, hash, lockTime, units, token, sender]);
}

/** Throws on bytes that `paymentScript` did not make. */
export function agreedPayment(script: Uint8Array): AgreedPayment {
  const words = decodeWords(script, WORDS);
  if (!words.ok) throw new Error(`no payment script: ${words.error.detail}`);
  const [contract, id, hash, lockTime, units, token, sender] = words.value;
  return { key: { contract, id: toHex(id) }, paymentHash: hash, lockTime, units, token, sender };
}
