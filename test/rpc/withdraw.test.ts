import fc from "fast-check";
import { expect, test } from "vitest";
import { add, cmp, decimal, fromUnits, lte, type Rational, sub } from "../../src/core/money/rational.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { JsonNumber } from "../../src/rpc/jsonNumber.ts";
import { type CoinNode, coinNode } from "../fakes/coinNode.ts";

const DOC = {
  coin: "DOC",
  pubtype: 60,
  p2shtype: 85,
  wiftype: 188,
  txversion: 4,
  overwintered: 1,
  txfee: 1_000,
  mm2: 1,
  protocol: { type: "UTXO" },
};
const TO = "RPkj5o9UUWPoMbVhkqaSosNGxTpj2CXVaN";
const DAY_MS = 86_400_000;
const COIN = 100_000_000n;

async function node(...amounts: readonly bigint[]): Promise<CoinNode> {
  const made = await coinNode([DOC], "withdraw test");
  await made.enable("DOC");
  made.fund("DOC", ...amounts);
  return made;
}
const whole = (reply: Record<string, unknown>, key: string): Rational => decimal(String(reply[key]));
const feeOf = (reply: Record<string, unknown>): Rational => decimal((reply.fee_details as { amount: string }).amount);

test.each([[{ type: "UtxoFixed", amount: "-1" }], [{ type: "UtxoPerKbyte", amount: "-0.00000001" }]])(
  "a negative fee, %j, is refused and makes no transaction",
  async (fee) => {
    const made = await node(COIN);
    const params = { coin: "DOC", to: TO, amount: "0.5", fee };
    const text = `Invalid fee policy: the fee ${fee.amount} must not be negative`;
    expect(await made.flat("withdraw", params)).toEqual({ status: 500, reply: { error: text } });
    expect(await made.v2("withdraw", params)).toMatchObject({ status: 400, reply: { error: text, error_type: "InvalidFeePolicy" } });
  },
);

test("a fixed fee is exactly that, however large the transaction", async () => {
  const made = await node(...new Array<bigint>(60).fill(COIN / 100n));
  const { reply } = await made.flat("withdraw", { coin: "DOC", to: TO, amount: "0.5", fee: { type: "UtxoFixed", amount: "0.001" } });
  expect(String(reply.tx_hex).length / 2).toBeGreaterThan(2_000);
  expect(feeOf(reply)).toEqual(decimal("0.001"));
  const max = await made.flat("withdraw", { coin: "DOC", to: TO, max: true, fee: { type: "UtxoFixed", amount: "0.001" } });
  expect(max.reply).toMatchObject({ total_amount: "0.6", received_by_me: "0", my_balance_change: "-0.6" });
  expect(feeOf(max.reply)).toEqual(decimal("0.001"));
});

test("at a rate of fees that takes more than the outputs hold, all that is there is told, not nothing", async () => {
  const made = await node(2n * COIN, COIN);
  const fee = { type: "UtxoPerKbyte", amount: "1000" };
  for (const [what, least] of [
    [{ amount: "1" }, "67"],
    [{ max: true }, "3.00001"],
  ] as const) {
    const { reply } = await made.v2("withdraw", { coin: "DOC", to: TO, fee, ...what });
    const data = { coin: "DOC", available: "3", required: least };
    expect(reply).toMatchObject({ error_type: "NotSufficientBalance", error_data: data });
  }
  expect(made.coin("DOC").reserve([decimal("2.5")], DAY_MS).ok).toBe(true);
  const { reply } = await made.v2("withdraw", { coin: "DOC", to: TO, fee, max: true });
  expect(Number((reply.error_data as { available: string }).available)).toBeLessThan(0.5);
});

test.each([
  [{ type: "UtxoFixed", amount: "5" }, "5.00001"],
  [{ type: "UtxoFixed", amount: "2.999995" }, "3.000005"],
])("max that the fee eats, %j, is told with what there is and what it takes, not with less than nothing", async (fee, threshold) => {
  const made = await node(3n * COIN);
  const { reply } = await made.v2("withdraw", { coin: "DOC", to: TO, max: true, fee });
  expect(reply).toMatchObject({
    error: `The amount 3 is too small, required at least ${threshold}`,
    error_type: "AmountTooLow",
    error_data: { amount: "3", threshold },
  });
});

test("the figures are those of the transaction", async () => {
  const made = await node(3n * COIN);
  const { reply } = await made.flat("withdraw", { coin: "DOC", to: TO, amount: "1.123456789" });
  const tx = parseTx(fromHex(String(reply.tx_hex)), made.coin("DOC").spec.kind.template.format);
  if (!tx.ok) throw new Error(tx.error.detail);
  // Cut to whole base units, never rounded.
  expect(tx.value.outputs[0]?.value).toBe(112_345_678n);
  const paid = tx.value.outputs.reduce((n, o) => n + o.value, 0n);
  expect(feeOf(reply)).toEqual(fromUnits(3n * COIN - paid, 8));
  expect(sub(whole(reply, "received_by_me"), whole(reply, "spent_by_me"))).toEqual(whole(reply, "my_balance_change"));
});

test("amount and fee given as JSON numbers are exact to the last unit, beyond what a double holds", async () => {
  const made = await node(100_000_000n * COIN);
  const fee = { type: "UtxoFixed", amount: new JsonNumber("1234567.89012345e-10") };
  const { reply } = await made.flat("withdraw", { coin: "DOC", to: TO, amount: new JsonNumber("90071992.54740993"), fee });
  const tx = parseTx(fromHex(String(reply.tx_hex)), made.coin("DOC").spec.kind.template.format);
  if (!tx.ok) throw new Error(tx.error.detail);
  expect(tx.value.outputs[0]?.value).toBe(9_007_199_254_740_993n);
  expect(reply.fee_details).toMatchObject({ amount: "0.00012345" });
  const parse = async (amount: JsonNumber) =>
    (await made.v2("withdraw", { coin: "DOC", to: TO, amount: "1", fee: { ...fee, amount } })).reply;
  expect(await parse(new JsonNumber("1e-9999"))).toMatchObject({
    error_type: "InvalidRequest",
    error_data: "invalid decimal number: 1e-9999",
  });
});

test("the receiver is named, and the own address that the change goes to is not", async () => {
  const made = await node(3n * COIN);
  const { address } = made.coin("DOC");
  for (const params of [{ amount: "1" }, { max: true }]) {
    const { reply } = await made.flat("withdraw", { coin: "DOC", to: TO, ...params });
    const tx = parseTx(fromHex(String(reply.tx_hex)), made.coin("DOC").spec.kind.template.format);
    expect([tx.ok && tx.value.outputs.length, reply.from, reply.to]).toEqual(["max" in params ? 1 : 2, [address], [TO]]);
  }
  expect((await made.flat("withdraw", { coin: "DOC", to: address, amount: "1" })).reply).toMatchObject({ from: [address], to: [address] });
});

test("a withdrawal of which nobody knows whether it is out names its transaction, and the money is there no more", async () => {
  const made = await node(10n * COIN);
  const params = { coin: "DOC", to: TO, amount: "4" };
  const { reply: signed } = await made.flat("withdraw", params);
  const chain = made.chains.get("DOC");
  if (chain) chain.outcome = { kind: "unknown", message: "The DOC daemon did not answer." };
  const asked = await made.flat("withdraw", { ...params, broadcast: true });
  const error = `Transport error: The DOC daemon did not answer; transaction ${signed.tx_hash} may be out: look for it before you pay again`;
  expect(asked).toEqual({ status: 500, reply: { error } });
  expect((await made.flat("my_balance", { coin: "DOC" })).reply).toMatchObject({ balance: "0" });
});

test("a withdrawal that nobody was given is not out, and the money is still there", async () => {
  const made = await node(10n * COIN);
  const params = { coin: "DOC", to: TO, amount: "4" };
  const { reply: signed } = await made.flat("withdraw", params);
  const chain = made.chains.get("DOC");
  const nobody = { kind: "unknown", message: "No Electrum server of DOC is connected.", isUnsent: true } as const;
  if (chain) chain.outcome = nobody;
  const balance = async (): Promise<unknown> => (await made.flat("my_balance", { coin: "DOC" })).reply.balance;
  const error = "Transport error: No Electrum server of DOC is connected; the transaction was not sent";
  expect(await made.flat("withdraw", { ...params, broadcast: true })).toEqual({ status: 500, reply: { error } });
  expect(await balance()).toBe("10");
  const send = { coin: "DOC", tx_hex: String(signed.tx_hex) };
  expect((await made.flat("send_raw_transaction", send)).reply.error).toContain("No Electrum server of DOC is connected");
  expect(await balance()).toBe("10");
  if (chain) chain.outcome = { kind: "unknown", message: "The servers did not answer." };
  await made.flat("send_raw_transaction", send);
  if (chain) chain.outcome = nobody;
  await made.flat("send_raw_transaction", send);
  // Of the first time nobody knows.
  expect(await balance()).toBe("0");
});

test("what is promised to swaps, and the fees of their transactions, is not withdrawn", async () => {
  const made = await node(10n * COIN);
  const coin = made.coin("DOC");
  expect(coin.reserve([decimal("4"), decimal("1")], DAY_MS).ok).toBe(true);
  expect(cmp(coin.locked(), decimal("5"))).toBe(1);
  const { status, reply } = await made.flat("withdraw", { coin: "DOC", to: TO, max: true, broadcast: true });
  expect([status, whole(reply, "my_balance_change")]).toEqual([200, sub(coin.locked(), decimal("10"))]);
  // Nothing is left beside the promises, and they can still be kept: what each of them takes can be taken.
  const refused = await made.flat("withdraw", { coin: "DOC", to: TO, amount: "0.001" });
  expect(refused).toMatchObject({ status: 500, reply: { error: expect.stringMatching(/^Not enough DOC to withdraw: available 0/) } });
});

test("max of a balance that is all promised is told as such; only an empty one is zero", async () => {
  const made = await node(COIN);
  expect(made.coin("DOC").reserve([decimal("0.9999976")], DAY_MS).ok).toBe(true);
  expect((await made.flat("withdraw", { coin: "DOC", to: TO, max: true })).reply).toEqual({
    error: "Not enough DOC to withdraw: available 0, required at least 0.00001",
  });
  const empty = await node();
  expect((await empty.flat("withdraw", { coin: "DOC", to: TO, max: true })).reply).toEqual({ error: "Balance is zero" });
});

test("whatever the outputs, promises can be kept after the largest withdrawal, and max_taker_vol can be reserved", async () => {
  const seed = 20_261_121;
  console.info(`withdraw properties: seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.bigInt({ min: 2_000n, max: 5n * COIN }), { minLength: 1, maxLength: 40 }),
      fc.array(fc.bigInt({ min: 10_000n, max: COIN }), { maxLength: 4 }),
      async (amounts, promises) => {
        const made = await node(...amounts);
        const coin = made.coin("DOC");
        for (const p of promises) coin.reserve([fromUnits(p, 8)], DAY_MS);
        const locked = coin.locked();
        expect(lte(locked, coin.spendable())).toBe(true);

        const { result } = (await made.flat("max_taker_vol", { coin: "DOC", trade_with: "DOC" })).reply as {
          result: { numer: string; denom: string };
        };
        if (result.numer !== "0") {
          const volume = { n: BigInt(result.numer), d: BigInt(result.denom) };
          const fee = cmp(volume, decimal("0.00777")) > 0 ? { n: volume.n, d: volume.d * 777n } : decimal("0.00001");
          const held = coin.reserve([volume, fee], DAY_MS);
          expect(held).toMatchObject({ ok: true });
          if (held.ok) coin.release(held.value);
        }

        const before = coin.spendable();
        const { status, reply } = await made.flat("withdraw", { coin: "DOC", to: TO, max: true, broadcast: true });
        if (status !== 200) return;
        expect(add(before, whole(reply, "my_balance_change"))).toEqual(locked);
        expect(coin.reserve([], DAY_MS).ok).toBe(true);
      },
    ),
    { numRuns: 60, seed },
  );
});
