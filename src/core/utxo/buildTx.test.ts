import fc from "fast-check";
import { expect, test } from "vitest";
import { type KeyPair, keyPairFromScalar } from "../keys/keyPair.ts";
import { type BuildArgs, buildTx, worthSpending } from "./buildTx.ts";
import { type FeeRate, feeForSize, htlcSpendFee } from "./feeRate.ts";
import { hash160 } from "./hash.ts";
import { opReturnScript, p2pkhScript, p2pkScript, p2shScript, p2wpkhScript } from "./outputScript.ts";
import { signInputs } from "./signInput.ts";
import { sortUnspents, type Unspent } from "./sortedUnspents.ts";
import { type TxFormat, vsize } from "./txCodec.ts";
import { currentLockTime } from "./txTemplate.ts";

const KEY: KeyPair = keyPairFromScalar(new Uint8Array(32).fill(5)) ?? fail();
function fail(): never {
  throw new Error("bad key");
}
const HASH = hash160(KEY.publicKey);
const LEGACY = p2pkhScript(HASH);
const WITNESS = p2wpkhScript(HASH);
const P2SH = p2shScript(new Uint8Array(20));
const RATE: FeeRate = { perKb: 1000n, wholeKb: false };

const unspent = (value: bigint, n: number, script = LEGACY): Unspent => ({
  txid: n.toString(16).padStart(64, "0"),
  vout: 0,
  value,
  script,
});
const args = (values: readonly bigint[], amount: bigint, more: Partial<BuildArgs> = {}): BuildArgs => ({
  template: { version: 1, format: { kind: "bitcoin" } },
  unspents: sortUnspents(values.map((v, i) => unspent(v, i))),
  outputs: [
    { value: amount, script: P2SH },
    { value: 0n, script: opReturnScript(new Uint8Array(20)) },
  ],
  changeScript: LEGACY,
  feeRate: RATE,
  dust: 1000n,
  lockTime: 1_700_000_000,
  ...more,
});
/** 4 + 1 + 4, two outputs of 32 and 31 bytes, and their count. */
const PAYMENT_BASE = 4 + 1 + 4 + 1 + 32 + 31;
const INPUT = 148;
const CHANGE = 34;

function built(a: BuildArgs) {
  const result = buildTx(a);
  if (!result.ok) throw new Error(result.error.kind);
  return result.value;
}

test("a payment with one input and change has the size and fee KDF computes", () => {
  const { tx, fee, change, spent } = built(args([1_000_000n], 500_000n));
  expect(fee).toBe(BigInt(PAYMENT_BASE + INPUT + CHANGE));
  expect(change).toBe(1_000_000n - 500_000n - fee);
  expect(tx.outputs.map((o) => o.value)).toEqual([500_000n, 0n, change]);
  expect(tx.inputs.map((i) => i.sequence)).toEqual([0xffffffff]);
  expect([tx.version, tx.lockTime, spent.length]).toEqual([1, 1_700_000_000, 1]);
});

test("the smallest outputs are spent first, and no more than needed", () => {
  const { spent } = built(args([900_000n, 5_000n, 40_000n, 30_000n], 60_000n));
  expect(spent.map((u) => u.value)).toEqual([5_000n, 30_000n, 40_000n]);
});

test("equal outputs are chosen in a fixed order, whatever the wallet's order", () => {
  const unspents = [3, 1, 2].map((n) => unspent(50_000n, n));
  const pick = (u: readonly Unspent[]) => built(args([], 60_000n, { unspents: sortUnspents(u) })).spent.map((x) => x.txid);
  expect(pick(unspents)).toEqual(pick([...unspents].reverse()));
});

test("a change below dust is left to the fee; at dust it is paid out", () => {
  const plain = BigInt(PAYMENT_BASE + INPUT);
  const withChange = plain + BigInt(CHANGE);
  const below = built(args([500_000n + withChange + 999n], 500_000n));
  expect([below.change, below.fee, below.tx.outputs.length]).toEqual([0n, withChange + 999n, 2]);
  const at = built(args([500_000n + withChange + 1000n], 500_000n));
  expect([at.change, at.fee, at.tx.outputs.length]).toEqual([1000n, withChange, 3]);
  const exact = built(args([500_000n + plain], 500_000n));
  expect([exact.change, exact.fee]).toEqual([0n, plain]);
});

test("one unit short names what there is and what it takes", () => {
  const plain = BigInt(PAYMENT_BASE + INPUT);
  expect(buildTx(args([500_000n + plain - 1n], 500_000n))).toEqual({
    ok: false,
    error: { kind: "NotEnough", available: 500_000n + plain - 1n, required: 500_000n + plain },
  });
  expect(buildTx(args([], 500_000n))).toEqual({
    ok: false,
    error: { kind: "NotEnough", available: 0n, required: 500_000n + BigInt(PAYMENT_BASE) },
  });
});

test("an output below dust is refused, whatever there is to spend; an OP_RETURN is not", () => {
  const refused = { ok: false, error: { kind: "OutputBelowDust", value: 999n, dust: 1000n } };
  for (const values of [[500_000n], [1n], []]) expect(buildTx(args(values, 999n))).toEqual(refused);
});

test("spending everything takes the fee from the output and leaves no change", () => {
  const values = [300_000n, 200_000n, 100_000n];
  const total = 600_000n;
  const { tx, fee, change } = built(args(values, total, { feeFromOutput: 0 }));
  expect([fee, change]).toEqual([BigInt(PAYMENT_BASE + 3 * INPUT), 0n]);
  expect(tx.outputs[0]?.value).toBe(total - fee);
});

test("with the fee from an output, the change keeps its value", () => {
  const { tx, fee, change } = built(args([1_000_000n], 500_000n, { feeFromOutput: 0 }));
  expect([change, tx.outputs[0]?.value]).toEqual([500_000n, 500_000n - fee]);
});

test("a fee that eats the output it comes from is refused", () => {
  const result = buildTx(args([1_200n], 1_200n, { feeFromOutput: 0 }));
  expect(!result.ok && result.error.kind).toBe("OutputBelowDust");
});

test("a dust wallet does not make a transaction no node relays: larger outputs replace the smallest", () => {
  const values = [...Array.from({ length: 1000 }, () => 2_000n), 5_000_000n];
  const { tx, spent } = built(args(values, 4_000_000n));
  expect(spent.at(-1)?.value).toBe(5_000_000n);
  expect(spent.length).toBeLessThan(700);
  expect(vsize(signInputs(tx, spent, KEY, { kind: "legacy" }))).toBeLessThanOrEqual(100_000);
  const tooMuch = buildTx(args(values, 6_500_000n));
  expect(!tooMuch.ok && tooMuch.error.kind).toBe("TooManyInputs");
  const most = !tooMuch.ok && tooMuch.error.kind === "TooManyInputs" ? tooMuch.error.available : 0n;
  expect(built(args(values, most, { feeFromOutput: 0 })).spent.length).toBeGreaterThan(600);
});

test("fees: cut to the unit, or every started kilobyte in full", () => {
  expect([feeForSize(RATE, 254), htlcSpendFee(RATE)]).toEqual([254n, 496n]);
  expect(feeForSize({ perKb: 1001n, wholeKb: false }, 999)).toBe(999n);
  const dingo: FeeRate = { perKb: 100_000_000n, wholeKb: true };
  expect([1, 1000, 1001].map((s) => feeForSize(dingo, s))).toEqual([100_000_000n, 100_000_000n, 200_000_000n]);
});

test("lock times of ordinary transactions: now, and 2046 s earlier for coins with interest", () => {
  expect([currentLockTime(1_700_000_000, false), currentLockTime(1_700_000_000, true)]).toEqual([1_700_000_000, 1_699_997_954]);
});

const anyWallet = fc.array(
  fc.record({ value: fc.bigInt({ min: 1n, max: 10n ** 12n }), kind: fc.constantFrom(LEGACY, WITNESS, p2pkScript(KEY.publicKey)) }),
  { maxLength: 12 },
);
const anyFormat = fc.constantFrom<TxFormat>({ kind: "bitcoin" }, { kind: "sapling" });

test("inputs = outputs + fee, to the unit, and the fee covers the signed size at the rate", () => {
  fc.assert(
    fc.property(
      anyWallet,
      fc.bigInt({ min: 1000n, max: 10n ** 12n }),
      fc.bigInt({ min: 0n, max: 10n ** 6n }),
      fc.boolean(),
      fc.boolean(),
      anyFormat,
      (wallet, amount, perKb, wholeKb, fromOutput, format) => {
        const legacyOnly = format.kind === "sapling";
        const unspents = sortUnspents(wallet.map((u, i) => unspent(u.value, i, legacyOnly && u.kind === WITNESS ? LEGACY : u.kind)));
        const total = unspents.reduce((n, u) => n + u.value, 0n);
        const feeRate = { perKb, wholeKb };
        const a = args([], amount, {
          unspents,
          feeRate,
          template: { version: legacyOnly ? 4 : 1, format },
          ...(fromOutput ? { feeFromOutput: 0 } : {}),
        });
        const result = buildTx(a);
        if (!result.ok) {
          if (result.error.kind === "NotEnough") expect(result.error).toMatchObject({ available: total });
          return;
        }
        const { tx, spent, fee, change } = result.value;
        const paid = tx.outputs.reduce((n, o) => n + o.value, 0n);
        expect(spent.reduce((n, u) => n + u.value, 0n)).toBe(paid + fee);
        expect(new Set(tx.inputs.map((i) => i.txid)).size).toBe(spent.length);
        if (!fromOutput) expect(tx.outputs[0]?.value).toBe(amount);
        if (change > 0n) expect([change >= a.dust, tx.outputs.at(-1)?.value]).toEqual([true, change]);
        const scheme = legacyOnly ? ({ kind: "sapling", branchId: 0x76b809bb } as const) : ({ kind: "legacy" } as const);
        expect(fee >= feeForSize(feeRate, vsize(signInputs(tx, spent, KEY, scheme)))).toBe(true);
      },
    ),
    { numRuns: 150 },
  );
});

test("change below the least one takes more inputs while there are any, and else what there is", () => {
  const small = args([100_000n, 600_000n], 90_000n);
  expect(built(small).spent.map((u) => u.value)).toEqual([100_000n]);
  expect(built({ ...small, minChange: 50_000n }).spent.map((u) => u.value)).toEqual([100_000n, 600_000n]);
  expect(built({ ...small, minChange: 5_000_000n })).toEqual(built(small));
});

test("an output is worth spending when it brings more than its input costs: 148 bytes, 68 for a witness", () => {
  const values = [1n, 68n, 69n, 148n, 149n, 10_000n];
  const kept = (rate: FeeRate, script: Uint8Array): bigint[] =>
    worthSpending(sortUnspents(values.map((v, i) => unspent(v, i, script))), rate).map((u) => u.value);
  expect(kept(RATE, LEGACY)).toEqual([149n, 10_000n]);
  expect(kept(RATE, WITNESS)).toEqual([69n, 148n, 149n, 10_000n]);
  // Whole kilobytes are charged for the whole transaction, not for each input.
  expect(kept({ ...RATE, wholeKb: true }, LEGACY)).toEqual([149n, 10_000n]);
  expect(worthSpending(sortUnspents([unspent(1n, 1)]), { exact: 5n })).toHaveLength(1);
});
