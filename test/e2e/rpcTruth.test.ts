import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { add, cmp, decimal, type Rational, rational, sub, toDecimalString, ZERO } from "../../src/core/money/rational.ts";
import type { DevNode } from "../../src/devnet/devnet.ts";
import { until } from "../../src/devnet/devnet.ts";
import { keyFacts } from "../vectors/keys/keyVectors.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { ended } from "./support/trade.ts";

/** What the RPC says beforehand, against what a swap between two processes then does. */

const BOTH = ["DOC", "MARTY"];
const { passphrase, secret: hexKey, wif188: wif } = keyFacts.seedA;
const RPC_PASSWORD = "Of-My-0wn-choice";
const PAIR = topologyOf({
  block_time_s: 0.5,
  nodes: [
    { name: "seed", seed: true },
    { name: "alice", passphrase, enable: BOTH, fund: { DOC: "100", MARTY: "100" }, config: { rpc_password: RPC_PASSWORD } },
    { name: "bob", enable: BOTH, fund: { DOC: "100", MARTY: "100" } },
  ],
});

type Fee = { readonly coin: string; readonly amount: string; readonly required_balance: string };

const balance = async (node: DevNode, coin: string): Promise<Rational> =>
  decimal(String((await node.rpc.call("my_balance", { coin })).balance));
const needed = (preimage: Record<string, unknown>, coin: string): Rational =>
  decimal((preimage.total_fees as Fee[]).find((f) => f.coin === coin)?.required_balance ?? "0");
const received = (preimage: Record<string, unknown>, coin: string): Rational => {
  const fee = (preimage.total_fees as Fee[]).find((f) => f.coin === coin);
  return sub(decimal(fee?.amount ?? "0"), decimal(fee?.required_balance ?? "0"));
};
/** Equal but for what is cut off below the base unit. */
const expectSame = (a: Rational, b: Rational): void => {
  const gap = sub(a, b);
  expect(Math.abs(Number(toDecimalString(gap)))).toBeLessThan(2e-8);
};

type File = { readonly path: string; readonly mode: string; readonly bytes: string };

/** Every file below a folder; what a running node renames or deletes meanwhile is left out. */
function filesOf(folder: string): readonly File[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesOf(path);
    try {
      return [{ path, mode: (statSync(path).mode & 0o777).toString(8), bytes: readFileSync(path, "latin1") }];
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw cause;
    }
  });
}

test("trade_preimage is what the swap costs, max_taker_vol leaves nothing, and no secret is anywhere but in MM2.json", async () => {
  await withNetwork(PAIR, async ({ node, net, logs }) => {
    const [alice, bob] = [node("alice"), node("bob")];
    const order = { base: "DOC", rel: "MARTY", price: "0.9" };
    const max = (await bob.rpc.call("max_taker_vol", { coin: "MARTY", trade_with: "DOC" })).result as { numer: string; denom: string };
    const volume = rational(BigInt(max.numer), BigInt(max.denom));
    // The same volume by `sell`: the base is what bob gives.
    const sale = { base: "MARTY", rel: "DOC", price: "0.9", volume: max };
    const takerFees = (await bob.rpc.call("trade_preimage", { ...sale, swap_method: "sell" })).result as Record<string, unknown>;
    const makerFees = (await alice.rpc.call("trade_preimage", { ...order, volume: "89", swap_method: "setprice" })).result as Record<
      string,
      unknown
    >;
    const before = { alice: await balance(alice, "DOC"), aliceMarty: await balance(alice, "MARTY"), bobDoc: await balance(bob, "DOC") };

    await alice.rpc.call("setprice", { base: "DOC", rel: "MARTY", price: toDecimalString(rational(10n, 9n)), volume: "99" });
    await until("bob sees the order", async () => {
      const { numasks } = await bob.rpc.call("orderbook", { base: "DOC", rel: "MARTY" });
      return numasks === 1 ? true : null;
    });
    const placed = (await bob.rpc.call("sell", sale)).result as { uuid: string; base_amount_rat: unknown };
    const done = await ended(alice, bob, placed.uuid);
    expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);

    expect(await balance(bob, "MARTY")).toEqual(ZERO);
    expectSame(add(volume, needed(takerFees, "MARTY")), decimal("100"));
    const status = done.taker as { maker_amount?: string };
    const gave = decimal(String(status.maker_amount));
    expectSame(sub(await balance(bob, "DOC"), before.bobDoc), sub(gave, received(takerFees, "DOC")));
    expectSame(sub(before.alice, await balance(alice, "DOC")), add(gave, needed(makerFees, "DOC")));
    expectSame(sub(await balance(alice, "MARTY"), before.aliceMarty), sub(volume, received(makerFees, "MARTY")));

    await expectNoSecrets(
      alice,
      [...net.chains.values()].map((c) => new URL(c.rpcUrl).password),
      logs.tail("alice", 2_000),
    );
  });
});

async function expectNoSecrets(node: DevNode, daemonPasswords: readonly string[], log: readonly string[]): Promise<void> {
  const wrong = "A-wrong-daemon-pw-1";
  await expect(node.rpc.call("enable", { coin: "DOC", rpc_url: `http://u:${wrong}@127.0.0.1:1` })).rejects.toThrow(/already initialized/);
  const secrets = [passphrase, hexKey, wif, RPC_PASSWORD, wrong, ...daemonPasswords];
  const files = filesOf(node.dataDir);
  expect(files.some(({ path }) => path.endsWith("-wal"))).toBe(true);
  expect(files.some(({ path }) => path.includes("/SWAPS/MY/"))).toBe(true);
  for (const { path, mode, bytes } of files) {
    expect([path, mode]).toEqual([path, "600"]);
    if (path.endsWith("/MM2.json")) continue;
    for (const secret of secrets) expect([path, bytes.includes(secret)]).toEqual([path, false]);
    expect([path, bytes.includes(Buffer.from(hexKey, "hex").toString("latin1"))]).toEqual([path, false]);
  }
  const args = readFileSync(`/proc/${node.process.pid}/cmdline`, "utf8");
  for (const secret of secrets) {
    expect(log.join("\n")).not.toContain(secret);
    expect(args).not.toContain(secret);
  }
}

test("200 orders at once over one balance: none is lost, and what is promised is there", async () => {
  await withNetwork(PAIR, async ({ node }) => {
    const [alice, bob] = [node("alice"), node("bob")];
    await alice.rpc.call("setprice", { base: "DOC", rel: "MARTY", price: "1", volume: "90" });
    await until("bob sees the order", async () => {
      const { numasks } = await bob.rpc.call("orderbook", { base: "DOC", rel: "MARTY" });
      return numasks === 1 ? true : null;
    });
    const order = { base: "DOC", rel: "MARTY", price: "1", volume: "2", order_type: { type: "FillOrKill" }, timeout: 15 };
    const replies = await Promise.all(Array.from({ length: 200 }, () => bob.rpc.call("buy", order)));
    const uuids = replies.map((r) => (r.result as { uuid: string }).uuid);
    expect(new Set(uuids).size).toBe(200);
    for (let look = 0; look < 20; look++) {
      const reply = (await bob.rpc.call("max_maker_vol", { mmrpc: "2.0", params: { coin: "MARTY" }, id: 0 }).catch(() => null)) as {
        result: { balance: { decimal: string }; locked_by_swaps: { decimal: string } };
      } | null;
      if (reply) expect(cmp(decimal(reply.result.locked_by_swaps.decimal), decimal(reply.result.balance.decimal))).toBeLessThan(1);
    }
    await until(
      "every order has come to its end",
      async () => {
        const orders = (await bob.rpc.call("my_orders")).result as { taker_orders: object };
        const swaps = (await bob.rpc.call("active_swaps")).uuids as string[];
        return Object.keys(orders.taker_orders).length + swaps.length === 0 ? true : null;
      },
      120_000,
    );
    const { swaps } = (await bob.rpc.call("my_recent_swaps", { limit: 1_000 })).result as {
      swaps: { uuid: string; is_success?: boolean }[];
    };
    expect(swaps.length).toBeGreaterThan(0);
    for (const swap of swaps) expect([swap.uuid, swap.is_success]).toEqual([swap.uuid, true]);
    const swapped = new Set(swaps.map((s) => s.uuid));
    for (const uuid of uuids) {
      const { cancellation_reason } = await bob.rpc.call("order_status", { uuid });
      expect([uuid, cancellation_reason]).toEqual([uuid, swapped.has(uuid) ? "Fulfilled" : "TimedOut"]);
    }
  });
});
