import { readFileSync } from "node:fs";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { expect, test } from "vitest";
import { checkEvmDexFee } from "../../src/app/coin/evm/evmSwapReader.ts";
import {
  addressFaultText,
  addressOfPubkey,
  checksumAddress,
  parseAddress,
  parseAnyCaseAddress,
  ZERO_ADDRESS,
} from "../../src/core/evm/address.ts";
import {
  allowanceCall,
  approveCall,
  balanceOfCall,
  DECIMALS_CALL,
  parseErc20Call,
  parseTransferEvent,
  transferCall,
} from "../../src/core/evm/erc20.ts";
import { ethMessageDigest, signEthMessage, verifyEthMessage } from "../../src/core/evm/ethMessage.ts";
import { parseEvmTx } from "../../src/core/evm/parseTx.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import {
  contractSecretHash,
  encodeSwapCall,
  isSecretOf,
  parsePaymentRecord,
  parseSwapCall,
  parseSwapEvent,
  paymentHash,
  paymentId,
  paymentsCall,
  SWAP_TOPICS,
} from "../../src/core/evm/swapContract.ts";
import { signingBytes } from "../../src/core/evm/txFields.ts";
import { hdCoinKey, mnemonicToRoot, parseAddressPath } from "../../src/core/keys/hd.ts";
import { keyPairFromScalar } from "../../src/core/keys/keyPair.ts";
import { decimal, div, toUnits } from "../../src/core/money/rational.ts";
import { concatBytes, fromHex, toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { encodeScriptNum } from "../../src/core/utxo/scriptNum.ts";

const VECTORS = JSON.parse(readFileSync(new URL("../vectors/evm/vectors.json", import.meta.url), "utf8"));

const keyOf = (hex: string) => keyPairFromScalar(fromHex(hex)) ?? expect.fail("a bad key");
const address = (hex: string) => {
  const parsed = parseAnyCaseAddress(`0x${hex}`);
  return parsed.ok ? parsed.value : expect.fail(parsed.error.kind);
};
function gotten<T>(result: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }): T {
  return result.ok ? result.value : expect.fail(JSON.stringify(result.error));
}

test("addresses of the standard's examples are read in their own case and in no other", () => {
  for (const text of VECTORS.eip55) {
    const parsed = gotten(parseAddress(text));
    expect(checksumAddress(parsed)).toBe(text);
    const others = [text.toLowerCase(), `0x${text.slice(2).toUpperCase()}`].filter((other) => other !== text);
    for (const other of others) expect(parseAddress(other)).toEqual({ ok: false, error: { kind: "BadChecksum", expected: text } });
    expect(gotten(parseAnyCaseAddress(text.toLowerCase()))).toBe(parsed);
  }
});

test("what is no address is refused with KDF's sentence for it, in KDF's order", () => {
  const said = (text: string): string => {
    const parsed = parseAddress(text);
    return parsed.ok ? "taken" : addressFaultText(parsed.error);
  };
  const [good] = VECTORS.eip55;
  expect(said(good.slice(2))).toBe("Address must be prefixed with 0x");
  expect(said(`0X${good.slice(2)}`)).toBe("Address must be prefixed with 0x");
  expect(said(good.slice(0, -1))).toBe("Invalid input length");
  expect(said(`${good.slice(0, -1)}g`)).toBe("Invalid character at position 39");
  expect(said(good.toLowerCase())).toBe("Invalid address checksum");
});

test("the payment of Ethereum's main chain is read, and its id follows from lock time and hash", () => {
  const v = VECTORS.mainnetPayment;
  const call = gotten(parseSwapCall(fromHex(v.calldata)));
  if (call.kind !== "ethPayment") expect.fail(call.kind);
  expect(toHex(call.id)).toBe(v.id);
  expect([call.receiver, toHex(call.secretHash), call.lockTime]).toEqual([v.receiver, v.secretHash, BigInt(v.lockTime)]);
  expect(toHex(paymentId(v.lockTime, fromHex(v.secretHash)))).toBe(v.id);
  expect(toHex(encodeSwapCall(call))).toBe(v.calldata);
});

test("the claim from the former Ropsten network is read whole: an old transaction without chain id, and its secret", () => {
  const v = VECTORS.ropstenSpend;
  const { tx, raw } = gotten(parseEvmTx(fromHex(v.raw)));
  expect(toHex(raw)).toBe(v.raw);
  expect([tx.type, tx.chainId, tx.to]).toEqual(["legacy", null, v.to]);
  const call = gotten(parseSwapCall(tx.data));
  if (call.kind !== "receiverSpend") expect.fail(call.kind);
  expect([toHex(call.secret), call.token]).toEqual([v.secret, ZERO_ADDRESS]);
});

test("ids, stored hash and calldata of a payment, its claim and its refund are those of a KDF node", () => {
  const v = VECTORS.constructed;
  const [maker, taker] = [keyOf(v.makerKey), keyOf(v.takerKey)].map((key) => addressOfPubkey(key.publicKey));
  expect([maker, taker]).toEqual([v.makerAddress, v.takerAddress]);
  const id = paymentId(v.lockTime, fromHex(v.secretHash));
  expect(toHex(id)).toBe(v.id);
  expect(toHex(paymentId(v.lockTime, fromHex(v.longHash)))).toBe(v.longId);
  expect(toHex(contractSecretHash(fromHex(v.longHash)))).toBe(v.secretHash);
  expect(contractSecretHash(fromHex(v.secretHash))).toEqual(fromHex(v.secretHash));
  const amount = BigInt(v.amountWei);
  const parties = { receiver: address(v.takerAddress), sender: address(v.makerAddress) };
  const secretHash = fromHex(v.secretHash);
  expect(toHex(paymentHash({ ...parties, secretHash, token: ZERO_ADDRESS, amount }))).toBe(v.paymentHash);
  const lockTime = BigInt(v.lockTime);
  const token = ZERO_ADDRESS;
  const calls = {
    ethPayment: { kind: "ethPayment", id, receiver: parties.receiver, secretHash, lockTime },
    receiverSpend: { kind: "receiverSpend", id, amount, secret: fromHex(v.secret), token, sender: parties.sender },
    senderRefund: { kind: "senderRefund", id, amount, secretHash, token, receiver: parties.receiver },
  } as const;
  for (const [name, call] of Object.entries(calls)) {
    expect(toHex(encodeSwapCall(call)), name).toBe(v.calldata[name]);
    expect(parseSwapCall(fromHex(v.calldata[name]))).toEqual({ ok: true, value: call });
  }
  const tokenPayment = {
    kind: "erc20Payment",
    id,
    amount,
    token: parties.sender,
    receiver: parties.receiver,
    secretHash,
    lockTime,
  } as const;
  expect(parseSwapCall(encodeSwapCall(tokenPayment))).toEqual({ ok: true, value: tokenPayment });
});

test("a secret is not read from a payment, nor from a claim with another selector, more bytes or a dirty padding", () => {
  const claim = fromHex(VECTORS.constructed.calldata.receiverSpend);
  expect(gotten(parseSwapCall(fromHex(VECTORS.mainnetPayment.calldata))).kind).toBe("ethPayment");
  expect(parseSwapCall(concatBytes(claim, Uint8Array.of(0))).ok).toBe(false);
  expect(parseSwapCall(claim.subarray(0, -1)).ok).toBe(false);
  const dirty = Uint8Array.from(claim);
  dirty[4 + 3 * 32] = 1; // the padding of the token's address
  expect(parseSwapCall(dirty).ok).toBe(false);
  const other = Uint8Array.from(claim);
  other[0] = 1;
  expect(parseSwapCall(other).ok).toBe(false);
  expect(parseSwapCall(new Uint8Array(3)).ok).toBe(false);
});

test("selectors and topics are the hashes of their signatures", () => {
  const hash = (signature: string): string => toHex(keccak_256(utf8ToBytes(signature)));
  const selector = (call: Uint8Array): string => toHex(call.subarray(0, 4));
  const a = ZERO_ADDRESS;
  const word = new Uint8Array(32);
  const short = new Uint8Array(20);
  const call = { id: word, amount: 0n, token: a, receiver: a, sender: a, secretHash: short, secret: word, lockTime: 0n };
  const signatures = new Map([
    ["ethPayment(bytes32,address,bytes20,uint64)", encodeSwapCall({ kind: "ethPayment", ...call })],
    ["erc20Payment(bytes32,uint256,address,address,bytes20,uint64)", encodeSwapCall({ kind: "erc20Payment", ...call })],
    ["receiverSpend(bytes32,uint256,bytes32,address,address)", encodeSwapCall({ kind: "receiverSpend", ...call })],
    ["senderRefund(bytes32,uint256,bytes20,address,address)", encodeSwapCall({ kind: "senderRefund", ...call })],
    ["payments(bytes32)", paymentsCall(word)],
    ["decimals()", DECIMALS_CALL],
    ["balanceOf(address)", balanceOfCall(a)],
    ["allowance(address,address)", allowanceCall(a, a)],
    ["transfer(address,uint256)", transferCall(a, 1n)],
    ["approve(address,uint256)", approveCall(a, 1n)],
  ]);
  for (const [signature, data] of signatures) expect(selector(data), signature).toBe(hash(signature).slice(0, 8));
  expect(SWAP_TOPICS).toEqual({
    sent: hash("PaymentSent(bytes32)"),
    spent: hash("ReceiverSpent(bytes32,bytes32)"),
    refunded: hash("SenderRefunded(bytes32)"),
  });
  const topics = [hash("Transfer(address,address,uint256)"), `${"0".repeat(24)}${"11".repeat(20)}`, `${"0".repeat(24)}${"22".repeat(20)}`];
  expect(gotten(parseTransferEvent(topics, fromHex(`${"0".repeat(63)}7`)))).toEqual({
    from: "11".repeat(20),
    to: "22".repeat(20),
    amount: 7n,
  });
  expect(parseTransferEvent([...topics, ""], word).ok).toBe(false);
  expect(parseTransferEvent([topics[0] ?? "", "zz", "11"], word).ok).toBe(false);
});

test("events of the contract and its record of a payment are read exactly", () => {
  const id = "aa".repeat(32);
  const secret = "bb".repeat(32);
  expect(gotten(parseSwapEvent([SWAP_TOPICS.spent], fromHex(id + secret)))).toEqual({
    kind: "spent",
    id: fromHex(id),
    secret: fromHex(secret),
  });
  expect(gotten(parseSwapEvent([SWAP_TOPICS.sent], fromHex(id)))).toEqual({ kind: "sent", id: fromHex(id) });
  expect(gotten(parseSwapEvent([SWAP_TOPICS.refunded], fromHex(id)))).toEqual({ kind: "refunded", id: fromHex(id) });
  expect(parseSwapEvent([SWAP_TOPICS.spent], fromHex(id)).ok).toBe(false);
  expect(parseSwapEvent([SWAP_TOPICS.sent, id], fromHex(id)).ok).toBe(false);
  const record = (hash: string, lock: string, state: string): Uint8Array =>
    fromHex(hash.padEnd(64, "0") + lock.padStart(64, "0") + state.padStart(64, "0"));
  expect(gotten(parsePaymentRecord(record("cc".repeat(20), "65542df0", "2")))).toEqual({
    paymentHash: fromHex("cc".repeat(20)),
    lockTime: 1_700_015_600n,
    state: "spent",
  });
  expect(gotten(parsePaymentRecord(new Uint8Array(96))).state).toBe("uninitialized");
  expect(parsePaymentRecord(record("cc".repeat(20), "1", "4")).ok).toBe(false);
  expect(parsePaymentRecord(record("cc".repeat(21), "1", "1")).ok).toBe(false);
  expect(parsePaymentRecord(new Uint8Array(0)).ok).toBe(false);
  expect(parseErc20Call(transferCall(ZERO_ADDRESS, 5n))).toEqual({ ok: true, value: { kind: "transfer", to: ZERO_ADDRESS, amount: 5n } });
  expect(parseErc20Call(new Uint8Array(4)).ok).toBe(false);
});

test("the example of EIP-155 is signed to the byte", () => {
  const v = VECTORS.eip155;
  const tx = {
    type: "legacy",
    chainId: BigInt(v.chainId),
    nonce: BigInt(v.nonce),
    gasPrice: BigInt(v.gasPrice),
    gasLimit: BigInt(v.gasLimit),
    to: address(v.to),
    value: BigInt(v.value),
    data: new Uint8Array(0),
  } as const;
  expect(toHex(keccak_256(signingBytes(tx)))).toBe(v.signingDigest);
  const signed = signEvmTx(tx, keyOf(v.key));
  expect(toHex(signed.raw)).toBe(v.raw);
  expect(parseEvmTx(signed.raw)).toEqual({ ok: true, value: signed });
});

test("messages hash, sign and verify as KDF does", () => {
  const { hash, signatures, hd } = VECTORS.messages;
  expect(toHex(ethMessageDigest(hash.prefix, hash.message))).toBe(hash.digest);
  for (const v of signatures) {
    const key = keyOf(v.key);
    expect(signEthMessage(hash.prefix, hash.message, key)).toBe(v.signature);
    const signer = gotten(parseAddress(v.address));
    expect(verifyEthMessage(hash.prefix, hash.message, v.signature, signer)).toEqual({ ok: true, value: true });
    expect(verifyEthMessage(hash.prefix, "tesT", v.signature, signer)).toEqual({ ok: true, value: false });
    const walletForm = `${v.signature.slice(2, -2)}${v.signature.endsWith("00") ? "1b" : "1c"}`;
    expect(verifyEthMessage(hash.prefix, hash.message, walletForm, signer)).toEqual({ ok: true, value: true });
  }
  const root = gotten(mnemonicToRoot(hd.mnemonic));
  for (const v of hd.signatures) {
    const id = parseAddressPath("m/44'/60'", v.path) ?? expect.fail("a bad path");
    expect(signEthMessage(hash.prefix, hash.message, hdCoinKey(root, "m/44'/60'", id))).toBe(v.signature);
  }
});

test("a signature that cannot be one is refused by its reason", () => {
  const [{ signature }] = VECTORS.messages.signatures;
  const reason = (text: string): string => {
    const verified = verifyEthMessage("x", "y", text, ZERO_ADDRESS);
    return verified.ok ? "taken" : verified.error.reason;
  };
  expect(reason("")).toBe("Length");
  expect(reason(signature.slice(0, -2))).toBe("Length");
  expect(reason(`${signature.slice(0, -1)}g`)).toBe("Hex");
  expect(reason(`${signature.slice(0, -2)}02`)).toBe("RecoveryId");
  expect(reason(`0x${"0".repeat(130)}`)).toBe("Unrecoverable");
  expect(reason(`0x${"f".repeat(128)}00`)).toBe("Unrecoverable");
});

test("dex fees of Ethereum's main chain: a share of the volume, cut to the wei, paid to the address of the fee's key by the taker", () => {
  const { feeKey, native, token } = VECTORS.dexFees;
  const [taker, other] = [keyOf("01".repeat(32)), keyOf("02".repeat(32))];
  expect(toUnits(div(decimal(token.volume), decimal("777")), 18)).toBe(toUnits(decimal(token.amount), 18));
  const at = address(token.contract);
  const dex = addressOfPubkey(fromHex(feeKey));
  const call = { chainId: 1n, nonce: 0n, gasPrice: 1n, gasLimit: 150_000n };
  for (const [of, amount] of [
    [null, native.amount],
    [at, token.amount],
  ] as const) {
    const units = toUnits(decimal(amount), 18);
    const paid = of === null ? { to: dex, value: units, data: new Uint8Array(0) } : { to: of, value: 0n, data: transferCall(dex, units) };
    const { raw } = signEvmTx({ type: "legacy", ...call, ...paid }, taker);
    const check = (takerKey: Uint8Array, fee: Uint8Array, due: bigint, chainId = 1n): boolean =>
      checkEvmDexFee(raw, chainId, of, { takerKey, feeKey: fee, units: due }).ok;
    expect(check(taker.publicKey, fromHex(feeKey), units)).toBe(true);
    expect(check(other.publicKey, fromHex(feeKey), units)).toBe(false);
    expect(check(taker.publicKey, other.publicKey, units)).toBe(false);
    expect(check(taker.publicKey, fromHex(feeKey), units + 1n)).toBe(false);
    expect(check(taker.publicKey, fromHex(feeKey), units, 137n)).toBe(false);
  }
});

test("a QRC-20 payment has the ids and calldata of an ERC-20 one, and so have its approvals", () => {
  const v = VECTORS.qtum;
  const [token, receiver, contract] = [v.token, v.receiver, v.contract].map(address);
  if (token === undefined || receiver === undefined || contract === undefined) expect.fail("no address");
  const secretHash = fromHex(v.secretHash);
  const id = paymentId(v.lockTime, secretHash);
  expect(toHex(id)).toBe(v.id);
  const amount = BigInt(v.amount);
  const payment = { kind: "erc20Payment", id, amount, token, receiver, secretHash, lockTime: BigInt(v.lockTime) } as const;
  expect(toHex(encodeSwapCall(payment))).toBe(v.payment);
  expect(gotten(parseSwapCall(fromHex(v.payment)))).toEqual(payment);
  expect([approveCall(contract, 0n), approveCall(contract, amount)].map((call) => toHex(call))).toEqual([v.approveNothing, v.approve]);
  const { lockTime, secret, secretHash: hash, id: second } = v.second;
  expect(toHex(hash160(fromHex(secret)))).toBe(hash);
  expect(toHex(paymentId(lockTime, fromHex(hash)))).toBe(second);
  expect(isSecretOf(second, BigInt(lockTime), fromHex(secret))).toBe(true);
  expect(isSecretOf(second, BigInt(lockTime), fromHex("02".repeat(32)))).toBe(false);
});

test("script numbers are those of Qtum's contract calls, and a transfer there has the calldata of ERC-20", () => {
  const v = VECTORS.qtum;
  for (const [number, hex] of Object.entries(v.scriptNumbers)) expect(toHex(encodeScriptNum(BigInt(number))), number).toBe(hex);
  const pushed = (bytes: Uint8Array): string => toHex(concatBytes(Uint8Array.of(bytes.length), bytes));
  for (const { gasLimit, gasPrice, amount, to = v.receiver, script } of [v.transferScript, v.feeScript]) {
    const call = transferCall(address(to), BigInt(amount));
    const gas = [gasLimit, gasPrice].map((n) => pushed(encodeScriptNum(BigInt(n)))).join("");
    // Version 4 of Qtum's virtual machine as OP_4, then OP_CALL.
    expect(`54${gas}${pushed(call)}${pushed(fromHex(v.token))}c2`).toBe(script);
  }
});
