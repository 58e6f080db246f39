import { expect, test } from "vitest";
import { testKey } from "../../../test/fakes/chainWorld.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { parseCoinEntry } from "../../core/coin/coinEntry.ts";
import { utxoKind } from "../../core/coin/utxoKind.ts";
import { hash160 } from "../../core/utxo/hash.ts";
import { p2pkhScript } from "../../core/utxo/outputScript.ts";
import { parseTx, serializeTx } from "../../core/utxo/txCodec.ts";
import { draftTx, SEQUENCE_FINAL } from "../../core/utxo/txTemplate.ts";
import type { CancelFees } from "../swap/swapCoin.ts";
import { OwnTxBuilder, type OwnTxBuilderDeps } from "./ownTxBuilder.ts";

const NOW = 1_700_000_000;
const LOCK = NOW - 5 * 3_600;

function kindOf(coin: string) {
  const entry = parseCoinEntry({ coin, pubtype: 60, p2shtype: 85, mm2: 1, txversion: 4, overwintered: 1, protocol: { type: "UTXO" } });
  const kind = entry.ok ? utxoKind(entry.value) : entry;
  if (!kind.ok) throw new Error("bad coin");
  return kind.value;
}

/** A transaction of a coin that cancels a payment that pays 10,000 units of fee. */
function cancel(coin: string, fees: CancelFees = {}): { readonly lockTime: number; readonly fee: bigint } {
  const kind = kindOf(coin);
  const key = testKey("cancel");
  const script = p2pkhScript(hash160(key.publicKey));
  const source = { txid: "11".repeat(32), vout: 0, value: 100_000_000n, script };
  const deps = {
    spec: { kind },
    wallet: { key, scripts: [script] },
    chain: { relayFeePerKb: () => 1_000n },
    clock: new VirtualClock(NOW * 1_000),
    ledger: () => ({ own: { source: () => source, stands: () => true, aged: () => null } }),
  };
  const { template } = kind;
  const inputs = [{ txid: source.txid, vout: 0, scriptSig: new Uint8Array(107), witness: [], sequence: SEQUENCE_FINAL }];
  const payment = serializeTx(draftTx(template, { inputs, outputs: [{ value: 99_990_000n, script }], lockTime: NOW }));
  const built = new OwnTxBuilder(deps as unknown as OwnTxBuilderDeps).cancel(payment, fees);
  const tx = built.ok ? parseTx(built.value.raw, template.format) : built;
  if (!tx.ok || !built.ok) throw new Error("not built");
  return { lockTime: tx.value.lockTime, fee: built.value.fee };
}

test("what cancels a payment of a coin with interest, whose blocks take no old lock time, has none", () => {
  expect([cancel("KMD").lockTime, cancel("RICK").lockTime]).toEqual([0, NOW]);
});

test("a cancellation offers three times what the payment and its children pay, and what is relayed at least", () => {
  const [alone, withChild, relayed] = [{}, { childFees: 50_000n }, { least: 200_000n }].map((fees) => cancel("RICK", fees).fee);
  expect([(alone ?? 0n) / 10_000n, (withChild ?? 0n) - (alone ?? 0n), relayed]).toEqual([3n, 150_000n, 200_000n]);
});

/** The lock time of a refund that is signed five hours after its lock, while the chain's time as the backend shows it is a minute after it. */
function lockTimeOfRefund(state: string): number {
  const kind = kindOf("KMD");
  const key = testKey("refund");
  const script = p2pkhScript(hash160(key.publicKey));
  const deps = {
    spec: { kind },
    wallet: { key, scripts: [script] },
    chain: { status: () => ({ state, tip: { medianTimePastSec: LOCK + 60 } }) },
    clock: new VirtualClock(NOW * 1_000),
  };
  const inputs = [{ txid: "11".repeat(32), vout: 0, scriptSig: new Uint8Array(107), witness: [], sequence: SEQUENCE_FINAL }];
  const payment = serializeTx(draftTx(kind.template, { inputs, outputs: [{ value: 99_000_000n, script }], lockTime: LOCK }));
  const claimKey = testKey("claim").publicKey;
  const contract = {
    units: 99_000_000n,
    swapContract: null,
    lock: LOCK,
    secretHash: new Uint8Array(20),
    refundKey: key.publicKey,
    claimKey,
  };
  const built = new OwnTxBuilder(deps as unknown as OwnTxBuilderDeps).refund({ contract, payment, fee: 1_000n });
  const tx = built.ok ? parseTx(built.value.raw, kind.template.format) : built;
  if (!tx.ok) throw new Error("not built");
  return tx.value.lockTime;
}

test("a refund of a coin with interest is not signed for the old time of a backend that catches up: no block would take it any more", () => {
  expect(lockTimeOfRefund("syncing")).toBe(NOW - 2_046);
  expect(lockTimeOfRefund("ready")).toBe(LOCK + 59);
});
