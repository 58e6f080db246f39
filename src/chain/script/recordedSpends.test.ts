import { expect, test } from "vitest";
import { createChainWorld } from "../../../test/fakes/chainWorld.ts";
import { kdfFacts, recordedSwaps } from "../../../test/vectors/utxo/utxoVectors.ts";
import { nobleVerify } from "../../core/crypto/nobleVerifier.ts";
import { fromHex, toHex } from "../../core/util/bytes.ts";
import { p2shOf } from "../../core/utxo/htlc.ts";
import { pushesOf } from "../../core/utxo/script.ts";
import { BITCOIN_FORMAT, parseTx, serializeTx, type TxFormat } from "../../core/utxo/txCodec.ts";
import type { ChainKind } from "../chainParams.ts";
import { parseChainTxAt } from "../chainTx.ts";
import { chainSignatureHash } from "../signatureHash.ts";
import { createSignatureChecker } from "./signatureChecker.ts";
import { verifyScript } from "./verifyScript.ts";

function read(hex: string, format: TxFormat = BITCOIN_FORMAT) {
  const parsed = parseTx(fromHex(hex), format);
  if (!parsed.ok) throw new Error(parsed.error.detail);
  return parsed.value;
}

/** Runs input 0 by the relay rules of a kind. */
function verifyInput(kind: ChainKind, hex: string, script: Uint8Array, value: bigint) {
  const { params } = createChainWorld(kind, { initialBlocks: 0 }).chain;
  const tx = read(hex, params.template.format);
  const checker = createSignatureChecker(tx, 0, value, chainSignatureHash(params), { verify: nobleVerify });
  return verifyScript(tx.inputs[0]?.scriptSig ?? new Uint8Array(0), script, [], params.policyFlags, checker);
}

const swap = kdfFacts.sha256Swap;
const sapling: TxFormat = { kind: "sapling" };

test("a recorded KMD-family claim verifies under ZIP-243 with Komodo's branch id", () => {
  const payment = read(swap.takerPayment.hex, sapling).outputs[0];
  if (!payment) throw new Error("no payment output");
  expect(verifyInput("kmd", swap.spend.hex, payment.script, BigInt(swap.amount))).toBeNull();
});

test("the same claim does not verify for another amount or another branch", () => {
  const payment = read(swap.takerPayment.hex, sapling).outputs[0];
  if (!payment) throw new Error("no payment output");
  expect(verifyInput("kmd", swap.spend.hex, payment.script, BigInt(swap.amount) + 1n)).toBe("EvalFalse");
  const { params } = createChainWorld("kmd", { initialBlocks: 0 }).chain;
  const other = { ...params, scheme: { kind: "sapling" as const, branchId: 0x2bb40e60 } };
  const tx = read(swap.spend.hex, sapling);
  const checker = createSignatureChecker(tx, 0, BigInt(swap.amount), chainSignatureHash(other), { verify: nobleVerify });
  expect(verifyScript(tx.inputs[0]?.scriptSig ?? new Uint8Array(0), payment.script, [], params.policyFlags, checker)).toBe("EvalFalse");
});

test("the recorded payment keeps its transaction id", () => {
  const parsed = parseChainTxAt(fromHex(swap.takerPayment.hex), 0, sapling);
  expect(parsed.ok && parsed.value.tx.txid).toBe(swap.takerPayment.txid);
});

test("claim and refund made for the reference verify by relay rules", () => {
  const script = p2shOf(fromHex(kdfFacts.constructed.redeem));
  expect(verifyInput("legacy", kdfFacts.constructed.claim.hex, script, 1_000_000n)).toBeNull();
  expect(verifyInput("legacy", kdfFacts.constructed.refund.hex, script, 1_000_000n)).toBeNull();
});

test("an old version-1 claim recorded by KDF verifies", () => {
  const tx = read(kdfFacts.legacySpend.hex);
  const redeem = pushesOf(tx.inputs[0]?.scriptSig ?? new Uint8Array(0))?.at(-1);
  if (!redeem) throw new Error("no redeem script");
  expect(verifyInput("legacy", kdfFacts.legacySpend.hex, p2shOf(redeem), 0n)).toBeNull();
});

test.each(recordedSwaps.map((s) => [s.uuid, s] as const))("both claims of the swap %s recorded between KDF nodes verify", (_, s) => {
  for (const [payment, spend] of [
    [s.makerPayment, s.makerPaymentSpend],
    [s.takerPayment, s.takerPaymentSpend],
  ] as const) {
    const output = read(payment.hex).outputs[0];
    if (!output) throw new Error("no payment output");
    expect(verifyInput("segwit", spend.hex, output.script, output.value)).toBeNull();
    const damaged = toHex(serializeTx({ ...read(spend.hex), lockTime: 1 }));
    expect(verifyInput("segwit", damaged, output.script, output.value)).toBe("SigNullFail");
  }
});
