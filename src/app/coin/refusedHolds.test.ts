import { expect, test } from "vitest";
import { testKey } from "../../../test/fakes/chainWorld.ts";
import { StillChain } from "../../../test/fakes/stillChain.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { buildTx } from "../../core/utxo/buildTx.ts";
import { hash160 } from "../../core/utxo/hash.ts";
import { p2pkhScript } from "../../core/utxo/outputScript.ts";
import { BITCOIN_FORMAT } from "../../core/utxo/txCodec.ts";
import { UtxoLedger } from "./utxoLedger.ts";

const COIN = 100_000_000n;
const PROMISES = 100;

test("what is more than the promises leave is refused at once, however many there are", () => {
  const key = testKey("maker");
  const script = p2pkhScript(hash160(key.publicKey));
  const chain = new StillChain("AAA");
  for (let i = 0; i < 200; i++) chain.pay(script, COIN);
  let built = 0;
  const ledger = new UtxoLedger({
    chain,
    clock: new VirtualClock(),
    format: BITCOIN_FORMAT,
    scheme: { kind: "legacy" },
    publicKey: key.publicKey,
    scripts: [script],
    matureConfs: 100,
    paysInterest: false,
    beside: () => [],
    rate: () => ({ perKb: 1_000n, wholeKb: false }),
    ceilingFactor: 8,
    dust: 1_000n,
    sample: (value) => [{ value, script }],
    build: (unspents, outputs, feeRate) => {
      built++;
      const template = { version: 1, format: BITCOIN_FORMAT };
      return buildTx({ template, unspents, outputs, changeScript: script, feeRate, dust: 1_000n, lockTime: 0 });
    },
    onChange: () => undefined,
  });
  const half = { amounts: [COIN / 2n], ttlMs: null };
  expect(ledger.holdEach(Array.from({ length: PROMISES }, () => half)).every(({ ok }) => ok)).toBe(true);
  built = 0;
  expect(ledger.hold([160n * COIN], null).ok).toBe(false);
  // All promises are gone through once; what cannot be there is not tried with the change of each.
  expect(built).toBeLessThan(2 * PROMISES);
});
