import { keccak_256 } from "@noble/hashes/sha3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { KeyPair } from "../keys/keyPair.ts";
import { concatBytes, parseHex, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { ByteWriter } from "../utxo/byteWriter.ts";
import type { EvmAddress } from "./address.ts";
import { recoverAddress, signatureBytes, signDigest } from "./signTx.ts";

/** r, s and v. */
const SIGNATURE_HEX = 2 * (32 + 32 + 1);
/** Wallets write v as 27 or 28; KDF as 0 or 1. */
const WALLET_V = 27;

/**
 * Digest of a signed message (rpc.md 8.2): Keccak-256 of the prefix with its compact size in front, the message's length in
 * decimal digits, and the message, both UTF-8. With the prefix of 25 bytes that Ethereum uses this is EIP-191.
 */
export function ethMessageDigest(prefix: string, message: string): Uint8Array {
  const body = utf8ToBytes(message);
  const head = new ByteWriter().varBytes(utf8ToBytes(prefix)).done();
  return keccak_256(concatBytes(head, utf8ToBytes(String(body.length)), body));
}

/** `0x` and 130 hex digits: r, s and v, which is 0 or 1 (rpc.md 8.2). Deterministic. */
export function signEthMessage(prefix: string, message: string, key: KeyPair): string {
  const signature = signDigest(ethMessageDigest(prefix, message), key);
  return `0x${toHex(signatureBytes(signature))}${toHex(Uint8Array.of(signature.yParity))}`;
}

/**
 * `Length`: not 130 hex digits after an optional `0x`. `Hex`: another character. `RecoveryId`: v is none of 0, 1, 27, 28.
 * `Unrecoverable`: no key can have made it. KDF answers all of them with `InternalError`.
 */
export type EthSignatureFault = { readonly kind: "BadEthSignature"; readonly reason: "Length" | "Hex" | "RecoveryId" | "Unrecoverable" };

/** Whether the signature over the message was made by the key of `address`. v of 27 and 28 is taken too, unlike KDF, which wallets use. */
export function verifyEthMessage(
  prefix: string,
  message: string,
  signature: string,
  address: EvmAddress,
): Result<boolean, EthSignatureFault> {
  const bad = (reason: EthSignatureFault["reason"]): Result<never, EthSignatureFault> => err({ kind: "BadEthSignature", reason });
  const digits = signature.startsWith("0x") ? signature.slice(2) : signature;
  if (digits.length !== SIGNATURE_HEX) return bad("Length");
  const bytes = parseHex(digits);
  if (!bytes.ok) return bad("Hex");
  const last = bytes.value[64] ?? 0;
  const v = last >= WALLET_V ? last - WALLET_V : last;
  if (v !== 0 && v !== 1) return bad("RecoveryId");
  const [r, s] = [BigInt(`0x${digits.slice(0, 64)}`), BigInt(`0x${digits.slice(64, 128)}`)];
  const signer = recoverAddress(ethMessageDigest(prefix, message), { r, s, yParity: v });
  return signer === null ? bad("Unrecoverable") : ok(signer === address);
}
