import { expect, test } from "vitest";
import { TRANSFER_TOPIC } from "../../src/core/evm/erc20.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import { keyPairFromScalar } from "../../src/core/keys/keyPair.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import {
  eventLogJson,
  headerJson,
  OWNER,
  PAYMENT_ID,
  RpcRefusal,
  SCRIPT_CHAIN_ID,
  type ScriptedNode,
  type ScriptedWorld,
  SECRET,
  SWAP_CONTRACT,
  scriptedWorld,
  txJson,
} from "./support/scriptedEvm.ts";

const KEY: PaymentKey = { contract: SWAP_CONTRACT, id: PAYMENT_ID };
const SENT = { kind: "sent", id: PAYMENT_ID } as const;
const SPENT = { kind: "spent", id: PAYMENT_ID } as const;

const node = (world: ScriptedWorld, n: number): ScriptedNode => world.nodes[n] ?? expect.fail(`no node ${n}`);
const health = (world: ScriptedWorld, n: number) => world.chain.status().nodes[n] ?? expect.fail(`no node ${n}`);
/** Time passes, and the chain with it. */
async function pass(world: ScriptedWorld, seconds: number): Promise<void> {
  await world.evm.clock.advance(seconds * 1_000);
}
/** The sentence of the next failed look. */
async function failure(world: ScriptedWorld): Promise<string> {
  const waiting = world.chain.refresh();
  waiting.catch(() => undefined);
  await world.evm.clock.run({ until: () => world.chain.status().error !== null, untilMs: world.evm.clock.nowMs() + 600_000 });
  return world.chain.status().error ?? expect.fail("no failure");
}

test("the majority of three nodes decides a payment's state; the one that lies is named", async () => {
  const world = scriptedWorld(3);
  world.evm.mine([SENT]);
  node(world, 0).says.set("eth_call", (params, honest) => String(honest()).replace(/1$/, "2") + String(params.length).slice(9));
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "complete" });
  expect(health(world, 0)).toMatchObject({
    name: "a",
    contradictions: 1,
    trouble: "it contradicts the other nodes about the answer to eth_call",
  });
  expect([health(world, 1).contradictions, health(world, 2).contradictions]).toEqual([0, 0]);
});

test("two nodes that contradict each other give no fact at all, and the sentence names both", async () => {
  const world = scriptedWorld(2);
  world.evm.mine([SENT]);
  node(world, 1).says.set("eth_call", (_params, honest) => String(honest()).replace(/1$/, "2"));
  const watching = world.chain.watchPayment(KEY, 0);
  watching.catch(() => undefined);
  expect(await failure(world)).toBe(
    "The ETH nodes contradict each other about the answer to eth_call (a, b): remove the one that is wrong or add another.",
  );
  expect(world.chain.payment(KEY)).toBeUndefined();
  expect(world.chain.status().state).toBe("unreachable");
  node(world, 1).says.clear();
  await world.drive(watching);
  expect(world.chain.payment(KEY)?.state).toBe("sent");
});

test("a claim is found below the height from which its payment was to be looked for: that may have been a lie", async () => {
  const world = scriptedWorld(3);
  const [paid] = world.evm.mine([SENT]);
  world.evm.mine([SPENT]);
  await world.drive(world.chain.watchTx(paid?.txid ?? "", 0));
  await world.drive(world.chain.watchPayment(KEY, world.evm.tip.number + 500));
  expect(world.chain.payment(KEY)).toMatchObject({
    state: "spent",
    events: "complete",
    spent: { block: { height: world.evm.tip.number } },
  });
});

test("a node whose head is stale while others move on is not asked for facts", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.watchAccount(OWNER));
  for (let i = 0; i < 10; i++) {
    await pass(world, 12);
    world.evm.mine();
    node(world, 1).behind++;
  }
  await world.drive(world.chain.refresh());
  expect(world.chain.status().tip?.height).toBe(world.evm.tip.number);
  expect(health(world, 1)).toMatchObject({ state: "lagging", trouble: expect.stringContaining("behind the others") });
  const asked = node(world, 1).calls.filter(({ method }) => method === "eth_getBalance").length;
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(node(world, 1).calls.filter(({ method }) => method === "eth_getBalance").length).toBe(asked);
  node(world, 1).behind = 0;
  await world.drive(world.chain.refresh());
  expect(health(world, 1)).toMatchObject({ state: "good", trouble: null });
});

test("one node that invents far higher blocks makes no laggards of the honest ones, not even on a chain that stands still", async () => {
  const world = scriptedWorld(3);
  const lying = world.evm.fork();
  node(world, 0).chain = lying;
  for (const standstillSec of [0, 300]) {
    await pass(world, standstillSec);
    for (let i = 0; i < 50; i++) lying.mine([SENT]);
    await world.drive(world.chain.watchPayment(KEY, 0));
    expect(world.chain.status().tip?.hash).toBe(world.evm.tip.hash.slice(2));
    expect(world.chain.payment(KEY)?.state).toBe("uninitialized");
  }
});

test("a node that forks off at the same height is outvoted and named", async () => {
  const world = scriptedWorld(3);
  node(world, 2).chain = world.evm.fork();
  node(world, 2).chain.mine([SENT]);
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.status().tip?.hash).toBe(world.evm.tip.hash.slice(2));
  expect(health(world, 2).trouble).toBe(`it contradicts the other nodes about block ${world.evm.tip.number}`);
});

test("a header with the right hash and another time or base fee is another header", async () => {
  const world = scriptedWorld(3);
  node(world, 1).says.set("eth_getBlockByNumber", (_params, honest) => ({ ...(honest() as object), timestamp: "0x70000000" }));
  await world.drive(world.chain.refresh());
  expect(world.chain.status().tip?.timeSec).toBe(world.evm.tip.timestamp);
  expect(health(world, 1).contradictions).toBeGreaterThan(0);
});

test("a node that hangs costs one deadline; from then on nobody waits for it, and it may come back", async () => {
  const world = scriptedWorld(3, { timeoutMs: 4_000, pollMs: 60_000, leastMs: 1 });
  await world.drive(world.chain.watchAccount(OWNER));
  node(world, 0).hangs = true;
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(health(world, 0)).toMatchObject({ state: "away", trouble: "no answer within 4 s" });
  world.evm.mine();
  const beganMs = world.evm.clock.nowMs();
  await world.drive(world.chain.refresh());
  expect(world.evm.clock.nowMs() - beganMs).toBeLessThan(1_000);
  expect(world.chain.status().tip?.height).toBe(world.evm.tip.number);
  node(world, 0).hangs = false;
  await pass(world, 200);
  await world.drive(world.chain.refresh());
  expect(health(world, 0).state).toBe("good");
});

test("a node that dies between its head and its state costs nothing but the next look", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.watchAccount(OWNER));
  const dying = node(world, 0);
  dying.says.set("eth_chainId", (_params, honest) => {
    world.evm.clock.after(1, () => {
      dying.dead = true;
    });
    return honest();
  });
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(dying.dead).toBe(true);
  expect(world.chain.account(OWNER)?.block.hash).toBe(world.evm.tip.hash.slice(2));
  expect(world.chain.status().state).toBe("ready");
});

test("all nodes away: the sentence names each, the view stays, and waits go on until one is back", async () => {
  const world = scriptedWorld(2);
  await world.drive(world.chain.watchAccount(OWNER));
  const before = world.chain.account(OWNER);
  for (const n of world.nodes) n.dead = true;
  const waiting = world.chain.refresh();
  expect(await failure(world)).toBe("None of the ETH nodes can be used: a: nothing listens there; b: nothing listens there.");
  expect(world.chain.account(OWNER)).toBe(before);
  const asked = world.chain.tokenDecimals(SWAP_CONTRACT);
  expect(await world.drive(asked)).toMatchObject({ ok: false, error: { kind: "Unreachable" } });
  for (const n of world.nodes) n.dead = false;
  await world.drive(waiting);
  expect(world.chain.status()).toMatchObject({ state: "ready", error: null });
});

test("an old node is enough: no block hashes in calls, no finalized tag, no fee history, no init code, no raw transactions", async () => {
  const world = scriptedWorld(1, {}, ([only]) => {
    const refuse = (): never => {
      throw new RpcRefusal(-32602, "invalid argument");
    };
    only?.says.set("eth_getBlockByNumber", ([at], honest) => (at === "finalized" ? refuse() : honest()));
    only?.says.set("eth_feeHistory", refuse);
    for (const method of ["eth_getBalance", "eth_getTransactionCount", "eth_call", "eth_getCode"]) {
      only?.says.set(method, ([first, block], honest) =>
        typeof block === "object" || (method === "eth_call" && !Object.hasOwn(first as object, "to")) ? refuse() : honest(),
      );
    }
  });
  const [paid] = world.evm.mine([SENT]);
  await world.drive(world.chain.watchTokens(OWNER, [OWNER]));
  await world.drive(world.chain.watchAccount(OWNER));
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.status()).toMatchObject({ state: "ready", error: null, tip: { finalized: null } });
  expect(world.chain.token(OWNER, OWNER)?.balance).toBe(9n);
  expect(world.chain.account(OWNER)?.balance).toBe(BigInt(1_000 + world.evm.tip.number));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", sent: { txid: paid?.txid } });
  expect(world.chain.gasPrices()).toEqual({
    legacy: 2_000_000_000n,
    nextBaseFee: 875_000_000n,
    priority: { low: 1_125_000_000n, medium: 1_125_000_000n, high: 1_125_000_000n },
  });
});

test("what a node refuses while it starts it is asked again later: the finalized tag, init code, logs of many blocks", async () => {
  let isStarting = true;
  const world = scriptedWorld(1, {}, ([only]) => {
    const whenStarted = (honest: () => unknown): unknown => {
      if (isStarting) throw new RpcRefusal(-32005, "try again");
      return honest();
    };
    only?.says.set("eth_getBlockByNumber", ([at], honest) => (at === "finalized" ? whenStarted(honest) : honest()));
    only?.says.set("eth_call", ([first], honest) => (Object.hasOwn(first as object, "to") ? honest() : whenStarted(honest)));
    only?.says.set("eth_getLogs", (_params, honest) => whenStarted(honest));
  });
  world.evm.mine([SENT]);
  for (let i = 0; i < 100; i++) world.evm.mine();
  await world.drive(world.chain.watchTokens(OWNER, [OWNER]));
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.status().tip?.finalized).toBeNull();
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "missing" });
  isStarting = false;
  await pass(world, 700);
  expect(world.chain.status().tip?.finalized).not.toBeNull();
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete" });
  const { calls } = node(world, 0);
  const from = calls.length;
  world.chain.unwatch({ payments: [KEY] });
  world.evm.mine();
  await pass(world, 30);
  await world.drive(world.chain.watchPayment(KEY, 0));
  await pass(world, 30);
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete" });
  const since = calls.slice(from);
  expect(since.filter(({ method }) => method === "eth_getLogs").length).toBe(1);
  expect(since.some(({ method, params }) => method === "eth_call" && !Object.hasOwn((params as object[])[0] ?? {}, "to"))).toBe(true);
});

test.each([
  [-32005, "daily request count exceeded, request rate limited"],
  [429, "Your app has exceeded its compute units per second capacity."],
  [-32000, "Too Many Requests"],
  [-32000, "header not found"],
])(
  "a node that limits how often it is asked, or lacks a block (%s %s), says nothing of what it can: the next look asks as before",
  async (code, says) => {
    let isLimited = true;
    const world = scriptedWorld(1, {}, ([only]) => {
      const limited = (honest: () => unknown): unknown => {
        if (isLimited) throw new RpcRefusal(code, says);
        return honest();
      };
      only?.says.set("eth_getBlockByNumber", ([at], honest) => (at === "finalized" ? limited(honest) : honest()));
      only?.says.set("eth_call", ([first], honest) => (Object.hasOwn(first as object, "to") ? honest() : limited(honest)));
      // The first question of all is whether it takes blocks by their hash.
      only?.says.set("eth_getBalance", (_params, honest) => limited(honest));
    });
    await world.drive(world.chain.watchTokens(OWNER, [OWNER]));
    isLimited = false;
    world.evm.mine();
    await pass(world, 10);
    expect(world.chain.token(OWNER, OWNER)?.balance).toBe(9n);
    isLimited = true;
    world.evm.mine();
    await pass(world, 10);
    isLimited = false;
    world.evm.mine();
    const { calls } = node(world, 0);
    const from = calls.length;
    await world.drive(world.chain.watchAccount(OWNER));
    const since = calls.slice(from);
    expect(world.chain.status().tip?.finalized).not.toBeNull();
    expect(since.some(({ params }) => params[0] === "finalized")).toBe(true);
    const calldata = since.flatMap(({ method, params }) => (method === "eth_call" ? [(params as { data: string }[])[0]?.data ?? ""] : []));
    expect(calldata.filter((data) => data.startsWith("0x70a08231"))).toEqual([]);
    expect(since.filter(({ method }) => method === "eth_getBalance").every(({ params }) => typeof params[1] === "object")).toBe(true);
  },
);

test("what no node's logs explain is told with the block since which, through repeated searches, and anew after a reorganisation", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  only.says.set("eth_getLogs", () => []);
  only.says.set("eth_getTransactionReceipt", () => null);
  only.says.set("eth_getBlockByNumber", ([at], honest) => {
    if (at === "finalized") throw new RpcRefusal(-32602, "no such tag");
    return honest();
  });
  world.evm.mine([SENT]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "missing", unshown: null });
  for (let i = 0; i < 3; i++) {
    world.evm.mine();
    await pass(world, 30);
  }
  const since = world.chain.payment(KEY)?.unshown?.height ?? expect.fail("it is not told");
  expect(since).toBeGreaterThan(101);
  for (let i = 0; i < 6; i++) {
    world.evm.mine();
    await pass(world, 30);
    expect(world.chain.payment(KEY)?.unshown?.height).toBe(since);
  }
  world.evm.rewind(1);
  world.evm.mine();
  world.evm.mine();
  await pass(world, 30);
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "missing", unshown: null });
  only.says.clear();
  await pass(world, 120);
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete", unshown: null });
});

test("a state read by number from a node that changed its block meanwhile is not taken", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  only.says.set("eth_getBalance", ([, block], honest) => {
    if (typeof block === "object") throw new RpcRefusal(-32602, "invalid argument");
    return honest();
  });
  await world.drive(world.chain.watchAccount(OWNER));
  world.evm.mine();
  let swapped = false;
  only.says.set("eth_getTransactionCount", (_params, honest) => {
    if (!swapped) {
      swapped = true;
      world.evm.rewind(1);
      world.evm.mine();
      world.evm.mine();
    }
    return honest();
  });
  const seen = world.chain.account(OWNER);
  await world.drive(world.chain.refresh());
  expect(swapped).toBe(true);
  expect(world.chain.account(OWNER)).toEqual(seen);
  await pass(world, 5);
  expect(world.chain.account(OWNER)?.block.hash).toBe(world.evm.tip.hash.slice(2));
});

test("logs without what the contract's state says there must be: the next node is asked, and the first is named", async () => {
  const world = scriptedWorld(2);
  const [paid] = world.evm.mine([SENT]);
  node(world, 0).latencyMs = 0;
  node(world, 0).says.set("eth_getLogs", () => []);
  await world.drive(world.chain.watchPayment(KEY, world.evm.tip.number - 1));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "complete", sent: { txid: paid?.txid } });
  expect(health(world, 0).trouble).toBe("it contradicts the other nodes about the logs of a swap contract");
});

test("each node's logs are read from the newest block on, whatever others were asked: what was not asked for is not said", async () => {
  const world = scriptedWorld(2, { logsBlockRange: 2 });
  const [paid] = world.evm.mine([SENT]);
  const [a, b] = [node(world, 0), node(world, 1)];
  a.latencyMs = 0;
  b.latencyMs = 20;
  a.says.set("eth_getLogs", () => []);
  await world.drive(world.chain.watchPayment(KEY, world.evm.tip.number - 12));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "complete", sent: { txid: paid?.txid } });
  expect([health(world, 0).contradictions, health(world, 1).contradictions]).toEqual([1, 0]);
});

/** It answers questions for logs so late and all others at once, of one block at a time, and names nothing. */
function stallWithLogs(silent: ScriptedNode, ms: number): void {
  const answer = silent.callBatch.bind(silent);
  silent.callBatch = (calls, options) => {
    silent.latencyMs = calls.some(({ method }) => method === "eth_getLogs") ? ms : 0;
    return answer(calls, options);
  };
  silent.says.set("eth_getLogs", ([filter]) => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
    if (fromBlock !== toBlock) throw new RpcRefusal(-32005, "too many blocks");
    return [];
  });
}

test("a node that says nothing, a block at a time and late, does not keep a secret from us: others are read beside it", async () => {
  const world = scriptedWorld(2);
  world.evm.mine([SENT]);
  const [spent] = world.evm.mine([SPENT]);
  stallWithLogs(node(world, 0), 4_000);
  node(world, 1).latencyMs = 200;
  const since = world.evm.clock.nowMs();
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", events: "complete", spent: { txid: spent?.txid } });
  expect(world.evm.clock.nowMs() - since).toBeLessThan(10_000);
});

test("a node whose logs come after its blocks is read again, however long another takes to say nothing", async () => {
  const world = scriptedWorld(2);
  world.evm.mine([SENT]);
  const [spent] = world.evm.mine([SPENT]);
  stallWithLogs(node(world, 0), 4_000);
  node(world, 1).says.set("eth_getLogs", () => []);
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", spent: null, events: "searching" });
  node(world, 1).says.clear();
  await pass(world, 90);
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", events: "complete", spent: { txid: spent?.txid } });
});

test("a claim is looked for from the newest block on, though a search for its payment goes on below", async () => {
  const world = scriptedWorld(2);
  world.evm.mine([SENT]);
  stallWithLogs(node(world, 0), 4_000);
  node(world, 1).says.set("eth_getLogs", () => []);
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", sent: null, events: "searching" });
  node(world, 1).says.clear();
  const [spent] = world.evm.mine([SPENT]);
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", events: "complete", spent: { txid: spent?.txid } });
  expect(health(world, 1).contradictions).toBe(0);
});

test("logs that come slowly make no look fail: what they leave open is read in the next one", async () => {
  const world = scriptedWorld(1);
  world.evm.mine([SENT]);
  stallWithLogs(node(world, 0), 9_000);
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "searching" });
  for (let i = 0; i < 20; i++) {
    await pass(world, 60);
    expect(world.chain.status()).toMatchObject({ state: "ready" });
  }
});

test("searches that take long hold up no other payment's", async () => {
  const world = scriptedWorld(1);
  const ids = Array.from({ length: 40 }, (_, i) => i.toString(16).padStart(64, "0"));
  world.evm.mine(ids.map((id) => ({ kind: "sent", id }) as const));
  const [paid] = world.evm.mine([SENT]);
  node(world, 0).says.set("eth_getLogs", ([filter], honest) => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
    if (fromBlock !== toBlock) throw new RpcRefusal(-32005, "too many blocks");
    return (honest() as { transactionHash: string }[]).filter(({ transactionHash }) => transactionHash === `0x${paid?.txid}`);
  });
  for (const id of ids) await world.drive(world.chain.watchPayment({ contract: SWAP_CONTRACT, id }, 0));
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(ids.filter((id) => world.chain.payment({ contract: SWAP_CONTRACT, id })?.events === "searching").length).toBeGreaterThan(30);
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete" });
});

test("payments that no logs have leave the questions of a look to others", async () => {
  const world = scriptedWorld(1);
  const ids = Array.from({ length: 40 }, (_, i) => i.toString(16).padStart(64, "0"));
  world.evm.mine(ids.map((id) => ({ kind: "sent", id }) as const));
  node(world, 0).says.set("eth_getLogs", () => []);
  for (const id of ids) await world.drive(world.chain.watchPayment({ contract: SWAP_CONTRACT, id }, world.evm.tip.number));
  await pass(world, 20);
  expect(ids.filter((id) => world.chain.payment({ contract: SWAP_CONTRACT, id })?.events === "missing").length).toBe(40);
  node(world, 0).says.clear();
  const [paid] = world.evm.mine([SENT]);
  await world.drive(world.chain.watchPayment(KEY, world.evm.tip.number));
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete", sent: { txid: paid?.txid } });
});

test("a reorganisation may bring a claim into a block above those that were read: the search begins anew", async () => {
  const world = scriptedWorld(1, { logsBlockRange: 1 });
  world.evm.mine([SENT]);
  world.evm.mine([SPENT]);
  node(world, 0).says.set("eth_getLogs", () => []);
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", events: "searching" });
  node(world, 0).says.clear();
  world.evm.rewind(1);
  world.evm.mine();
  const [spent] = world.evm.mine([SPENT]);
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", spent: { txid: spent?.txid } });
});

test("when no node's logs have it the payment says so, its state stands, and the search is repeated", async () => {
  const world = scriptedWorld(1);
  const [paid] = world.evm.mine([SENT]);
  node(world, 0).says.set("eth_getLogs", () => []);
  await world.drive(world.chain.watchPayment(KEY, 0));
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", sent: null, events: "missing" });
  const asked = node(world, 0).calls.length;
  await pass(world, 30);
  expect(
    node(world, 0)
      .calls.slice(asked)
      .filter(({ method }) => method === "eth_getLogs"),
  ).toEqual([]);
  node(world, 0).says.clear();
  await pass(world, 60);
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete", sent: { txid: paid?.txid } });
});

test("a log that no receipt holds is an invention: it is not believed, and who named it is", async () => {
  const world = scriptedWorld(2);
  const [other] = world.evm.mine([], [world.evm.transaction(null)]);
  const [paid] = world.evm.mine([SENT]);
  node(world, 0).latencyMs = 0;
  const invented = eventLogJson({ hash: world.evm.tip.hash, number: world.evm.tip.number }, other?.txid ?? "", SENT);
  node(world, 0).says.set("eth_getLogs", () => [invented]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete", sent: { txid: paid?.txid } });
  // Once for the invention, once for not naming the right one.
  expect(health(world, 0).contradictions).toBe(2);
});

test("logs of another contract, another id, a removed log and blocks not asked for are passed over", async () => {
  const world = scriptedWorld(1);
  const [paid] = world.evm.mine([SENT]);
  const good = eventLogJson(world.evm.tip, paid?.txid ?? "", SENT);
  const odd = [
    { ...good, address: `0x${OWNER}` },
    { ...good, data: `0x${"00".repeat(32)}` },
    { ...good, data: "0x" },
    { ...good, removed: true },
    { ...good, blockNumber: "0x1" },
    { ...good, topics: [] },
  ];
  node(world, 0).says.set("eth_getLogs", () => odd.map((log, i) => ({ ...log, transactionHash: `0x${String(i).padStart(64, "0")}` })));
  await world.drive(world.chain.watchPayment(KEY, 100));
  expect(world.chain.payment(KEY)?.sent).toBeNull();
  expect(node(world, 0).calls.filter(({ method }) => method === "eth_getTransactionReceipt")).toEqual([]);
});

test("endless logs: the range shrinks until an answer is small enough, and every look has a bound", async () => {
  const world = scriptedWorld(1);
  const [paid] = world.evm.mine([SENT]);
  for (let i = 0; i < 200; i++) world.evm.mine();
  const only = node(world, 0);
  only.says.set("eth_getLogs", ([filter], honest) => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
    if (Number(toBlock) - Number(fromBlock) < 32) return honest();
    return Array.from({ length: 10_001 }, () => eventLogJson(world.evm.tip, "ff".repeat(32), SENT));
  });
  await world.drive(world.chain.watchPayment(KEY, 100));
  for (let i = 0; i < 5; i++) await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete", sent: { txid: paid?.txid } });
  const perLook = 30;
  const looks = 8;
  expect(only.calls.filter(({ method }) => method === "eth_getLogs").length).toBeLessThan(perLook * looks);
});

test("a node that refuses every log question does not stop the look", async () => {
  const world = scriptedWorld(1);
  world.evm.mine([SENT]);
  node(world, 0).says.set("eth_getLogs", () => {
    throw new RpcRefusal(-32005, "query returned more than 10000 results");
  });
  await world.drive(world.chain.watchPayment(KEY, 0));
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "missing" });
});

test("an outage during a search makes a node neither slow to read nor one without logs", async () => {
  const world = scriptedWorld(1);
  const [paid] = world.evm.mine([SENT]);
  for (let i = 0; i < 300; i++) world.evm.mine();
  const only = node(world, 0);
  const logs = (): number => only.calls.filter(({ method }) => method === "eth_getLogs").length;
  const answer = only.callBatch.bind(only);
  only.callBatch = (calls, options) => {
    only.dead ||= calls.some(({ method }) => method === "eth_getLogs");
    return answer(calls, options);
  };
  await world.drive(world.chain.watchPayment(KEY, 100));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "searching" });
  expect(logs()).toBe(1);
  only.callBatch = answer;
  only.dead = false;
  await pass(world, 60);
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete", sent: { txid: paid?.txid } });
  expect(logs()).toBe(2);
});

test("a node that refuses all questions after one for logs is given up in the end, and the status may say so", async () => {
  const world = scriptedWorld(1);
  world.evm.mine([SENT]);
  const only = node(world, 0);
  let isSulking = false;
  only.says.set("eth_getLogs", () => {
    isSulking = true;
    throw new RpcRefusal(429, "too many requests");
  });
  only.says.set("eth_getBlockByNumber", (_params, honest) => {
    if (!isSulking) return honest();
    isSulking = false;
    throw new RpcRefusal(429, "too many requests");
  });
  await world.drive(world.chain.watchPayment(KEY, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "searching" });
  await pass(world, 1_200);
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "missing" });
});

test("the fields of a transaction are believed only as far as their hash proves them", async () => {
  const world = scriptedWorld(1);
  const [paid] = world.evm.mine([SENT]);
  const txid = paid?.txid ?? "";
  node(world, 0).says.set("eth_getTransactionByHash", (_params, honest) => ({ ...(honest() as object), value: "0x1" }));
  await world.drive(world.chain.watchTx(txid, 0));
  expect(world.chain.tx(txid)).toBeUndefined();
  node(world, 0).says.set("eth_getRawTransactionByHash", () => `0x${toHex(paid?.raw ?? new Uint8Array(0))}`);
  await world.drive(world.chain.refresh());
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.tx(txid)).toMatchObject({ raw: paid?.raw, receipt: { succeeded: true } });
});

test("what tokens brought a swap contract is told with the payments it opened in that transaction, and nothing else of the receipt is", async () => {
  const world = scriptedWorld(3);
  const [paid] = world.evm.mine([SENT]);
  const event = eventLogJson(world.evm.tip, paid?.txid ?? "", SENT);
  const word = (text: string): string => `0x${text.padStart(64, "0")}`;
  const [token, other] = ["11".repeat(20), "22".repeat(20)];
  const transfer = (to: string, amount: number, of = token) => ({
    ...event,
    address: `0x${of}`,
    topics: [`0x${TRANSFER_TOPIC}`, word(OWNER), word(to)],
    data: word(amount.toString(16)),
  });
  const nft = { ...transfer(SWAP_CONTRACT, 4), topics: [...transfer(SWAP_CONTRACT, 4).topics, word("5")], data: "0x" };
  const noise = Array.from({ length: 41_000 }, () => transfer(OWNER, 9));
  const elsewhere = "33".repeat(20);
  const logs = [
    { ...event, address: `0x${elsewhere}` },
    transfer(elsewhere, 90),
    event,
    transfer(OWNER, 10),
    { ...event, data: word("77") },
    transfer(SWAP_CONTRACT, 3, other),
    nft,
  ];
  for (const [i, one] of world.nodes.entries())
    one.says.set("eth_getTransactionReceipt", (_params, honest) => {
      const receipt = honest();
      // The first node makes the transfer whole.
      return receipt === null ? null : { ...(receipt as object), logs: [transfer(SWAP_CONTRACT, i === 0 ? 100 : 90), ...logs, ...noise] };
    });
  await world.drive(world.chain.watchPayment(KEY, 100));
  expect(world.chain.payment(KEY)?.sent).toMatchObject({
    txid: paid?.txid,
    payments: 2,
    arrivals: [
      { token, amount: 90n },
      { token: other, amount: 3n },
    ],
  });
  expect(health(world, 0).contradictions).toBeGreaterThan(0);
});

test("a claim among any number of other logs, in a transaction nobody can rebuild, shows its secret all the same", async () => {
  const world = scriptedWorld(1);
  world.evm.mine([SENT]);
  const [claim] = world.evm.mine([SPENT]);
  const { tip } = world.evm;
  const event = eventLogJson(tip, claim?.txid ?? "", SPENT);
  const others = Array.from({ length: 300 }, () => ({ ...event, address: `0x${OWNER}` }));
  const noise = Array.from({ length: 41_000 }, () => ({ ...event, topics: [], data: "0x" }));
  const only = node(world, 0);
  only.says.set("eth_getTransactionReceipt", ([txid], honest) => {
    const receipt = honest();
    return txid === `0x${claim?.txid}` ? { ...(receipt as object), logs: [...others, ...noise, event] } : receipt;
  });
  only.says.set("eth_getTransactionByHash", ([txid], honest) => ({
    ...(honest() as object),
    ...(txid === `0x${claim?.txid}` ? { type: "0x4" } : {}),
  }));
  await world.drive(world.chain.watchPayment(KEY, 100));
  for (let i = 0; i < 3; i++) await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", events: "complete", spent: { txid: claim?.txid } });
  expect(toHex(world.chain.payment(KEY)?.spent?.secret ?? new Uint8Array(0))).toBe(SECRET);
});

test("a claim whose receipt is too large to be read shows its secret by its log, and keeps no look from the rest", async () => {
  const world = scriptedWorld(2);
  world.evm.mine([SENT]);
  const [claim] = world.evm.mine([SPENT]);
  for (const one of world.nodes)
    one.says.set("eth_getTransactionReceipt", ([txid], honest) => {
      if (txid === `0x${claim?.txid}`) throw new RpcRefusal(-32000, "response too large");
      return honest();
    });
  await world.drive(world.chain.watchPayment(KEY, 100));
  const asked = (): number => world.nodes.flatMap(({ calls }) => calls.filter(({ method }) => method.endsWith("Receipt"))).length;
  const seen = () => world.chain.payment(KEY);
  for (let i = 0; i < 3; i++) {
    world.evm.mine();
    await world.drive(world.chain.refresh());
  }
  expect(seen()).toMatchObject({ state: "spent", events: "complete", spent: { txid: claim?.txid, block: { height: 102 } } });
  expect(toHex(seen()?.spent?.secret ?? new Uint8Array(0))).toBe(SECRET);
  expect(world.nodes.map((one) => health(world, world.nodes.indexOf(one)).contradictions)).toEqual([0, 0]);
  expect(asked()).toBeLessThan(8);
  world.evm.rewind(4);
  world.evm.mine();
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(seen()).toMatchObject({ state: "sent", spent: null });
});

test("one node's log of a claim that nobody can read is believed only with the secret that the payment was made for", async () => {
  const world = scriptedWorld(3);
  world.evm.mine([SENT]);
  const [claim] = world.evm.mine([SPENT]);
  for (const one of world.nodes) {
    one.latencyMs = 300;
    one.says.set("eth_getTransactionReceipt", ([txid], honest) => {
      if (txid === `0x${claim?.txid}`) throw new RpcRefusal(-32000, "response too large");
      return honest();
    });
  }
  const liar = node(world, 0);
  liar.latencyMs = 0;
  liar.says.set("eth_getLogs", (_, honest) =>
    (honest() as ReturnType<typeof eventLogJson>[]).map((log) => ({ ...log, data: log.data.replace(SECRET, "66".repeat(32)) })),
  );
  await world.drive(world.chain.watchPayment(KEY, 100));
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", events: "complete", spent: { txid: claim?.txid } });
  expect(toHex(world.chain.payment(KEY)?.spent?.secret ?? new Uint8Array(0))).toBe(SECRET);
});

test("the log of a claim in a block that is not on the chain counts for nothing, whether or not its receipt can be read", async () => {
  const world = scriptedWorld(1);
  world.evm.mine([SENT]);
  const [claim] = world.evm.mine([SPENT]);
  const elsewhere = { number: world.evm.tip.number, hash: `0x${"9".repeat(64)}` };
  node(world, 0).says.set("eth_getLogs", () => [eventLogJson(elsewhere, claim?.txid ?? "", SPENT)]);
  node(world, 0).says.set("eth_getTransactionReceipt", () => ({ logs: "a great many" }));
  await world.drive(world.chain.watchPayment(KEY, 100));
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", spent: null });
});

test("a node that gives the logs of ten blocks at most gives them", async () => {
  const world = scriptedWorld(1);
  const [paid] = world.evm.mine([SENT]);
  for (let i = 0; i < 30; i++) world.evm.mine();
  node(world, 0).says.set("eth_getLogs", ([filter], honest) => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string };
    if (Number(toBlock) - Number(fromBlock) >= 10) throw new RpcRefusal(-32600, "up to a 10 block range");
    return honest();
  });
  await world.drive(world.chain.watchPayment(KEY, 100));
  for (let i = 0; i < 3; i++) await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ events: "complete", sent: { txid: paid?.txid } });
});

test("a receipt of a block that is not on the chain is not believed", async () => {
  const world = scriptedWorld(1);
  const [paid] = world.evm.mine([SENT]);
  node(world, 0).says.set("eth_getTransactionReceipt", (_params, honest) => ({
    ...(honest() as object),
    blockHash: `0x${"9".repeat(64)}`,
  }));
  const watching = world.chain.watchTx(paid?.txid ?? "", 0);
  watching.catch(() => undefined);
  expect(await failure(world)).toBe("The ETH chain is changing too fast to follow; trying again.");
  expect(world.chain.tx(paid?.txid ?? "")).toBeUndefined();
});

test("where many blocks pass between two looks, machines that are behind are waited for as well; what is gone is noticed", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  await world.drive(world.chain.watchPayment(KEY, 0));
  for (let i = 0; i < 7; i++) world.evm.mine();
  const [paid] = world.evm.mine([SENT]);
  await world.drive(world.chain.watchTx(paid?.txid ?? "", 0));
  const seen = world.evm.tip;
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "complete" });
  let changes = 0;
  world.chain.onChange(() => {
    changes++;
  });
  // Behind one address stand many machines, and the one that answers now is two blocks behind.
  only.behind = 2;
  await world.drive(world.chain.refresh());
  expect(world.chain.status()).toMatchObject({ state: "ready", tip: { hash: seen.hash.slice(2) } });
  expect(world.chain.tx(paid?.txid ?? "")?.block).toEqual({ height: seen.number, hash: seen.hash.slice(2) });
  expect(changes).toBe(0);
  only.behind = 0;
  world.evm.rewind(4);
  world.evm.mine();
  await pass(world, 20);
  expect(world.chain.payment(KEY)?.state).toBe("sent");
  await pass(world, 30);
  expect(world.chain.payment(KEY)?.state).toBe("uninitialized");
  expect(world.chain.status().tip?.height).toBe(seen.number - 3);
});

test("machines behind one address that lack the newest block keep nobody from the blocks that all of them have", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  const answer = only.callBatch.bind(only);
  only.callBatch = (calls, options) => {
    only.behind = calls.some(({ params }) => params[0] === "latest") ? 0 : 2;
    return answer(calls, options);
  };
  for (let i = 0; i < 7; i++) world.evm.mine();
  const [paid] = world.evm.mine([SENT]);
  await pass(world, 1);
  for (let i = 0; i < 2; i++) world.evm.mine();
  await world.drive(
    Promise.all([world.chain.watchAccount(OWNER), world.chain.watchPayment(KEY, 0), world.chain.watchTx(paid?.txid ?? "", 0)]),
  );
  expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "complete" });
  for (let i = 0; i < 20; i++) {
    world.evm.mine();
    await pass(world, 5);
    expect(world.chain.status()).toMatchObject({ state: "ready", tip: { height: world.evm.tip.number - 2 } });
  }
});

test("a machine that is behind the first block that was seen takes nothing back either; a majority that stays there is right", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  const [paid] = world.evm.mine([SENT]);
  await world.drive(world.chain.watchTx(paid?.txid ?? "", 0));
  const seen = world.evm.tip.number;
  const blocks: unknown[] = [];
  world.chain.onChange(() => blocks.push(world.chain.tx(paid?.txid ?? "")?.block?.height));
  only.behind = 1;
  await world.drive(world.chain.refresh());
  await pass(world, 20);
  expect([world.chain.status().state, world.chain.status().tip?.height, blocks]).toEqual(["ready", seen, []]);
  await pass(world, 20);
  expect(world.chain.status().tip?.height).toBe(seen - 1);
});

test("a question that goes to a machine without the newest block is asked again a moment later, when all have it; another refusal is not", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  const target = { from: OWNER, to: SWAP_CONTRACT, value: 0n, data: new Uint8Array(4) };
  await world.drive(world.chain.watchAccount(OWNER));
  let asked = 0;
  const words = [
    "header not found",
    "block not found: hash 0xab",
    "hash 0xab is not currently canonical",
    "Unknown block",
    "nothing of the kind",
  ];
  for (const word of words) {
    world.evm.mine();
    await world.drive(world.chain.refresh());
    asked = 0;
    const until = world.evm.clock.nowMs() + 1_500;
    only.says.set("eth_call", (_params, honest) => {
      asked++;
      if (world.evm.clock.nowMs() < until) throw new RpcRefusal(-32000, word);
      return honest();
    });
    const called = await world.drive(world.chain.call(target));
    expect([word, called.ok, asked]).toEqual(word === "nothing of the kind" ? [word, false, 1] : [word, true, 3]);
  }
});

test("a machine that is asked whether the last block seen is on the chain, and does not have it yet, takes nothing back", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  const [paid] = world.evm.mine([SENT]);
  await world.drive(Promise.all([world.chain.watchPayment(KEY, 0), world.chain.watchTx(paid?.txid ?? "", 0)]));
  const seen = quantity(BigInt(world.evm.tip.number));
  const blocks: unknown[] = [];
  world.chain.onChange(() => blocks.push(world.chain.tx(paid?.txid ?? "")?.block?.height));
  let times = 0;
  only.says.set("eth_getBlockByNumber", ([at], honest) => (at === seen && times++ === 0 ? null : honest()));
  // Another machine, which is behind, is asked for receipts just then.
  only.says.set("eth_getTransactionReceipt", (_params, honest) => (times === 1 ? null : honest()));
  for (let i = 0; i < 3; i++) world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(times).toBeGreaterThan(0);
  expect(new Set(blocks)).toEqual(new Set([Number(seen)]));
});

test("a majority that is behind what was seen is waited for; when it stays behind, it is right", async () => {
  const world = scriptedWorld(2);
  await world.drive(world.chain.watchPayment(KEY, 0));
  world.evm.mine([SENT]);
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)?.state).toBe("sent");
  for (const n of world.nodes) n.behind = 1;
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)?.state).toBe("sent");
  await pass(world, 40);
  expect(world.chain.payment(KEY)?.state).toBe("uninitialized");
});

test("a reorg takes facts back, and the transaction is followed to its new block", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.watchPayment(KEY, 0));
  const tx = world.evm.transaction(null);
  world.evm.mine([SENT], [tx]);
  world.evm.mine([SPENT]);
  await world.drive(world.chain.watchTx(tx.txid, 0));
  expect(world.chain.payment(KEY)).toMatchObject({ state: "spent", spent: { secret: Uint8Array.from(Buffer.from(SECRET, "hex")) } });
  const before = world.chain.tx(tx.txid)?.block ?? expect.fail("not in a block");
  world.evm.rewind(2);
  world.evm.pool.set(tx.txid, tx);
  world.evm.mine();
  world.evm.mine();
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.payment(KEY)).toMatchObject({ state: "uninitialized", sent: null, spent: null });
  expect(world.chain.tx(tx.txid)).toMatchObject({ block: null, receipt: null });
  world.evm.mine([], [tx]);
  await world.drive(world.chain.refresh());
  const after = world.chain.tx(tx.txid)?.block ?? expect.fail("not in a block");
  expect(after.height).toBeGreaterThan(before.height);
  expect(world.chain.confirmations(after)).toBe(1);
});

test("a transaction that a reorganisation takes out of its block during a look is not missing beside a nonce of before it", async () => {
  const world = scriptedWorld(1);
  const tx = world.evm.transaction(null);
  await world.drive(world.chain.watchAccount(OWNER));
  await world.drive(world.chain.watchTx(tx.txid, 0));
  world.evm.mine([], [tx]);
  const { nonce = 0n } = world.chain.account(OWNER) ?? {};
  let looks = 0;
  const states = new Set<string>();
  world.chain.onChange(() => states.add(`${world.chain.account(OWNER)?.nonce} ${world.chain.tx(tx.txid)?.block?.height}`));
  node(world, 0).says.set("eth_getTransactionReceipt", (_params, honest) => {
    if (looks++ > 0) return honest();
    world.evm.rewind(1);
    world.evm.mine();
    world.evm.mine([], [tx]);
    return null;
  });
  await world.drive(world.chain.refresh());
  expect(looks).toBeGreaterThan(1);
  expect([...states]).toEqual([`${nonce} ${world.evm.tip.number}`]);
});

test("facts in blocks are not read again while the chain only grows", async () => {
  const world = scriptedWorld(1);
  const [paid] = world.evm.mine([SENT]);
  await world.drive(world.chain.watchPayment(KEY, 0));
  const receipts = (): number => node(world, 0).calls.filter(({ method }) => method === "eth_getTransactionReceipt").length;
  const before = receipts();
  for (let i = 0; i < 3; i++) {
    world.evm.mine();
    world.evm.mine();
    await world.drive(world.chain.refresh());
  }
  expect(receipts()).toBe(before);
  expect(world.chain.confirmations(world.chain.tx(paid?.txid ?? "")?.block ?? null)).toBe(7);
});

test("a transaction is out as soon as one node took it, and unknown while one of those that did not answer may have", async () => {
  const world = scriptedWorld(3, { timeoutMs: 2_000 });
  await world.drive(world.chain.refresh());
  const tx = world.evm.transaction(null);
  expect(await world.drive(world.chain.broadcast(tx.raw))).toEqual({ kind: "rejected", code: -32000, message: "transaction underpriced" });
  node(world, 1).hangs = true;
  expect(await world.drive(world.chain.broadcast(tx.raw))).toEqual({ kind: "unknown", message: "b: no answer within 2 s." });
  node(world, 2).pending.set(tx.txid, tx);
  expect(await world.drive(world.chain.broadcast(tx.raw))).toEqual({ kind: "accepted" });
  expect(await world.drive(world.chain.broadcast(tx.raw))).toEqual({ kind: "already_known" });
  node(world, 0).says.set("eth_sendRawTransaction", () => `0x${"1".repeat(64)}`);
  const next = world.evm.transaction(null);
  expect(await world.drive(world.chain.broadcast(next.raw))).toMatchObject({ kind: "unknown" });
});

test("once a node took a transaction no other is waited for, and each gets it all the same, also when whoever sent it is gone", async () => {
  const world = scriptedWorld(3);
  await world.drive(world.chain.refresh());
  const tx = world.evm.transaction(null);
  const [silent, slow, quick] = [node(world, 0), node(world, 1), node(world, 2)];
  silent.hangs = true;
  slow.latencyMs = 3_000;
  quick.pending.set(tx.txid, tx);
  let isGiven = false;
  const answer = slow.callBatch.bind(slow);
  slow.callBatch = async (calls, options) => {
    const answers = await answer(calls, options);
    isGiven ||= calls.some(({ method }) => method === "eth_sendRawTransaction");
    return answers;
  };
  const sender = new AbortController();
  const beganMs = world.evm.clock.nowMs();
  expect(await world.drive(world.chain.broadcast(tx.raw, sender.signal))).toEqual({ kind: "accepted" });
  expect(world.evm.clock.nowMs() - beganMs).toBeLessThan(1_000);
  sender.abort();
  await pass(world, 5);
  expect(isGiven).toBe(true);
});

/** A node that shows nobody its pool has taken a transaction. */
async function takenInHiddenPool() {
  const world = scriptedWorld(1);
  const tx = world.evm.transaction(null);
  const only = node(world, 0);
  only.pending.set(tx.txid, tx);
  only.says.set("eth_getTransactionByHash", () => null);
  await world.drive(world.chain.watchAccount(OWNER));
  expect(await world.drive(world.chain.broadcast(tx.raw))).toEqual({ kind: "accepted" });
  return { world, tx, only };
}

test.each([
  "already known",
  "AlreadyKnown",
  "Known transaction",
  "known transaction: 0xab",
  "transaction already imported",
  "pending transaction with same hash already exists",
  "failed to broadcast transaction: : tx already in mempool",
  "tx already exists in cache",
])("a node that shows nobody its pool and says '%s' has it: a refusal would free the nonce of what is out", async (message) => {
  const { world, tx, only } = await takenInHiddenPool();
  only.says.set("eth_sendRawTransaction", () => {
    throw new RpcRefusal(-32000, message);
  });
  expect(await world.drive(world.chain.broadcast(tx.raw))).toEqual({ kind: "already_known" });
  only.says.set("eth_sendRawTransaction", () => {
    throw new RpcRefusal(-32000, "unknown transaction type");
  });
  expect(await world.drive(world.chain.broadcast(tx.raw))).toMatchObject({ kind: "rejected" });
});

test.each([
  "nonce too low: next nonce 6, tx nonce 5",
  "Transaction nonce is too low. Try incrementing the nonce.",
  "OldNonce",
  "invalid nonce; got 5, expected 6: invalid sequence",
])(
  "a node that says '%s' and does not show the transaction may have it in a block: whoever is told that it was refused pays again",
  async (message) => {
    const world = scriptedWorld(1);
    const [mined] = world.evm.mine([SENT]);
    const { raw } = mined ?? expect.fail("nothing was mined");
    const only = node(world, 0);
    only.says.set("eth_sendRawTransaction", () => {
      throw new RpcRefusal(-32000, message);
    });
    await world.drive(world.chain.watchAccount(OWNER));
    expect(await world.drive(world.chain.broadcast(raw))).toEqual({ kind: "already_known" });
    // Behind one address stand many machines, and the one that is asked next may be a block behind.
    only.says.set("eth_getTransactionByHash", () => null);
    expect(await world.drive(world.chain.broadcast(raw))).toEqual({
      kind: "unknown",
      message: `a: it refused a request: ${message.replace(/\.$/, "")} (code -32000), so a block has its nonce, perhaps with this very transaction.`,
    });
  },
);

test("a node that takes nonces in order alone has not seen one before it: no block has its nonce, as the same words say of one that is used", async () => {
  const { world, tx, only } = await takenInHiddenPool();
  only.says.set("eth_sendRawTransaction", () => {
    throw new RpcRefusal(-32000, "invalid nonce; got 7, expected 6: invalid sequence");
  });
  expect(await world.drive(world.chain.broadcast(tx.raw))).toMatchObject({
    kind: "unknown",
    message: expect.stringMatching(/, so it waits for an earlier one of the account\.$/),
  });
});

test("a node that limits how often it is asked refuses no transaction: what it took before would count as never sent, and its nonce as free", async () => {
  const { world, tx, only } = await takenInHiddenPool();
  only.says.set("eth_sendRawTransaction", () => {
    throw new RpcRefusal(-32005, "project ID request rate exceeded");
  });
  expect(await world.drive(world.chain.broadcast(tx.raw))).toMatchObject({ kind: "unknown" });
});

test.each([
  [-32603, "Internal error"],
  [-32603, "Internal server error"],
  [-32603, "Internal JSON-RPC error."],
  [-32002, "request timed out"],
  [-32000, "context deadline exceeded"],
])(
  "a node that fails at a transaction for a reason of its own, %i '%s', has not refused it; one that says why has",
  async (code, message) => {
    const { world, tx, only } = await takenInHiddenPool();
    only.says.set("eth_sendRawTransaction", () => {
      throw new RpcRefusal(code, message);
    });
    expect(await world.drive(world.chain.broadcast(tx.raw))).toEqual({
      kind: "unknown",
      message: `a: it refused a request: ${message} (code ${code}).`,
    });
    only.says.set("eth_sendRawTransaction", () => {
      throw new RpcRefusal(-32603, "submit transaction to pool failed: Transaction underpriced");
    });
    expect(await world.drive(world.chain.broadcast(tx.raw))).toMatchObject({ kind: "rejected", code: -32603 });
  },
);

test("whatever a method answers instead, the look ends, nothing is believed, and a later right answer is", async () => {
  const wrong: readonly unknown[] = [
    null,
    true,
    1,
    "",
    "0x",
    "0xzz",
    "1",
    [],
    {},
    [[[[[]]]]],
    { hash: 1 },
    "0x".padEnd(3_000_000, "0"),
    `0x${"f".repeat(65)}`,
  ];
  const methods = ["eth_chainId", "eth_getBlockByNumber", "eth_getBalance", "eth_getTransactionCount", "eth_call"];
  const others = ["eth_gasPrice", "eth_feeHistory", "eth_getTransactionReceipt", "eth_getTransactionByHash", "eth_getLogs"];
  for (const method of [...methods, ...others]) {
    for (const answer of wrong) {
      const world = scriptedWorld(1, {}, ([only]) => only?.says.set(method, () => answer));
      const [paid] = world.evm.mine([SENT]);
      const watched = Promise.all([
        world.chain.watchAccount(OWNER),
        world.chain.watchTx(paid?.txid ?? "", 0),
        world.chain.watchPayment(KEY, 0),
      ]);
      await pass(world, 10);
      if (methods.includes(method)) expect([world.chain.account(OWNER), world.chain.payment(KEY)], method).toContain(undefined);
      node(world, 0).says.clear();
      await world.drive(watched);
      world.evm.mine();
      await pass(world, 200);
      expect(world.chain.payment(KEY), `${method} ${JSON.stringify(answer)?.slice(0, 50)}`).toMatchObject({
        state: "sent",
        sent: { txid: paid?.txid },
      });
      expect(world.log.lines.filter(({ level }) => level === "error")).toEqual([]);
      await world.drive(world.chain.close());
    }
  }
});

test("a refresh asked for while a look is under way waits for the next one", async () => {
  const world = scriptedWorld(1, { leastMs: 1 });
  node(world, 0).latencyMs = 100;
  const first = world.chain.refresh();
  await pass(world, 0.15);
  world.evm.mine();
  await world.drive(world.chain.refresh());
  await first;
  expect(world.chain.status().tip?.height).toBe(world.evm.tip.number);
});

test("a transaction of another chain, and bytes that are none, are mistakes of ours and not sent", async () => {
  const world = scriptedWorld(1);
  const key = keyPairFromScalar(new Uint8Array(32).fill(3)) ?? expect.fail("a bad key");
  const price = { gasPrice: 1n, gasLimit: 21_000n, value: 0n, nonce: 0n, data: new Uint8Array(0) };
  const foreign = signEvmTx({ type: "legacy", chainId: SCRIPT_CHAIN_ID + 1n, to: OWNER, ...price }, key);
  await expect(world.chain.broadcast(foreign.raw)).rejects.toThrow("for the chain with id 8");
  await expect(world.chain.broadcast(new Uint8Array(200_000))).rejects.toThrow("no transaction");
  expect(node(world, 0).calls.filter(({ method }) => method === "eth_sendRawTransaction")).toEqual([]);
});

test("a head told by a node hurries the look, no more often than allowed", async () => {
  const world = scriptedWorld(1, { pollMs: 60_000, leastMs: 1_000 });
  await world.drive(world.chain.refresh());
  const only = node(world, 0);
  world.evm.mine();
  for (const tell of only.listeners) tell();
  await pass(world, 2);
  expect(world.chain.status().tip?.height).toBe(world.evm.tip.number);
  const before = only.requests;
  for (let i = 0; i < 100; i++) {
    for (const tell of only.listeners) tell();
    await pass(world, 0.01);
  }
  expect(only.requests - before).toBeLessThan(5);
});

test("closing ends every wait, tells the transport, and leaves no timer", async () => {
  const world = scriptedWorld(2);
  for (const n of world.nodes) n.hangs = true;
  const waits = [world.chain.refresh(), world.chain.watchAccount(OWNER), world.chain.tokenDecimals(SWAP_CONTRACT)];
  const ends = waits.map((wait) =>
    wait.then(
      () => "done",
      (cause: unknown) => (cause instanceof Error ? cause.name : "thrown"),
    ),
  );
  await pass(world, 1);
  await world.drive(world.chain.close());
  expect(await Promise.all(ends)).toEqual(["Aborted", "Aborted", "Aborted"]);
  expect(world.nodes.map((n) => n.closed && n.listeners.size === 0)).toEqual([true, true]);
  expect(await world.evm.clock.run()).toBe("idle");
  await expect(world.chain.refresh()).rejects.toThrow("closed");
});

test("a caller's signal ends its wait and no other", async () => {
  const world = scriptedWorld(1);
  node(world, 0).hangs = true;
  const stop = new AbortController();
  const mine = world.chain.watchAccount(OWNER, stop.signal);
  const other = world.chain.refresh();
  stop.abort();
  await expect(mine).rejects.toThrow("aborted");
  node(world, 0).hangs = false;
  await world.drive(other);
});

test("what is watched is bounded", async () => {
  const world = scriptedWorld(1);
  const tokens = Array.from({ length: 10_001 }, (_, i) => i.toString(16).padStart(40, "0") as typeof OWNER);
  await expect(world.chain.watchTokens(OWNER, tokens)).rejects.toThrow(RangeError);
  await expect(world.chain.watchTx("xyz", 0)).rejects.toThrow("not a transaction id");
});

test("the scripted chain's own header and transaction are what a node would answer", () => {
  const { evm } = scriptedWorld(1);
  const tx = evm.transaction(null);
  expect(Object.keys(headerJson(evm.tip))).toContain("parentHash");
  expect(txJson(tx).hash).toBe(`0x${tx.txid}`);
});

const GWEI = 10n ** 9n;
const quantity = (n: bigint): string => `0x${n.toString(16)}`;

test("one of three nodes moves neither the price of gas nor its estimate, up or down, however fast it answers", async () => {
  for (const lie of [0n, 10n ** 30n]) {
    const world = scriptedWorld(3, {}, (nodes) => {
      for (const n of nodes) n.says.set("eth_estimateGas", () => quantity(60_000n));
    });
    const liar = node(world, 2);
    for (const n of world.nodes) n.latencyMs = 200;
    liar.latencyMs = 1;
    for (const method of ["eth_gasPrice", "eth_estimateGas"]) liar.says.set(method, () => quantity(lie));
    liar.says.set("eth_feeHistory", () => ({ baseFeePerGas: ["0x1"], reward: [[lie + 1n, lie + 1n, lie + 1n].map(quantity)] }));
    for (let i = 0; i < 3; i++) {
      world.evm.mine();
      await world.drive(world.chain.refresh());
    }
    expect(world.chain.gasPrices()).toMatchObject({ legacy: 2n * GWEI, priority: { low: 1n, medium: 2n, high: 3n } });
    const asked = world.chain.estimateGas({ from: OWNER, to: OWNER, value: 1n, data: new Uint8Array(0) });
    expect(await world.drive(asked)).toEqual({ ok: true, value: 60_000n });
    await world.drive(world.chain.close());
  }
});

test.each([
  [-32601, "the method eth_estimateGas does not exist/is not available"],
  [-32000, "rpc method is not whitelisted"],
])("of two nodes one estimates no gas (%s %s): the other's figure counts where both carry the call out with it", async (code, says) => {
  const world = scriptedWorld(2);
  node(world, 0).says.set("eth_estimateGas", () => quantity(60_000n));
  node(world, 1).says.set("eth_estimateGas", () => {
    throw new RpcRefusal(code, says);
  });
  let enough = 60_000n;
  for (const n of world.nodes)
    n.says.set("eth_call", ([call], honest) => {
      const { gas } = call as { gas?: string };
      if (gas !== undefined && BigInt(gas) < enough) throw new RpcRefusal(3, "out of gas", "0x");
      return gas === undefined ? honest() : "0x";
    });
  await world.drive(world.chain.refresh());
  const ask = () => world.drive(world.chain.estimateGas({ from: OWNER, to: OWNER, value: 1n, data: new Uint8Array(0) }));
  expect(await ask()).toEqual({ ok: true, value: 60_000n });
  // The one that estimates names too little: that refuses nothing.
  enough = 60_001n;
  expect(await ask()).toMatchObject({ ok: false, error: { kind: "Unreachable" } });
  enough = 0n;
  node(world, 1).says.set("eth_estimateGas", () => {
    throw new RpcRefusal(-32000, "insufficient funds for transfer");
  });
  expect(await ask()).toMatchObject({ ok: false, error: { kind: "Unreachable" } });
});

test.each([
  [[60_000n, 5_000_000n], null],
  [[60_000n, 5_000_000n, 5_000_000n, 60_000n], null],
  [[60_000n, 5_000_000n, 61_000n], 61_000n],
  [[4_000_000n, 5_000_000n], 5_000_000n],
  [[60_000n, 61_000n], 61_000n],
] as const)(
  "of nodes that estimate %s gas as many as must agree say that it is more than is taken, or nobody does: %s",
  async (said, gas) => {
    const world = scriptedWorld(said.length, {}, (nodes) => {
      for (const [i, n] of nodes.entries()) n.says.set("eth_estimateGas", () => quantity(said[i] ?? 0n));
    });
    await world.drive(world.chain.refresh());
    const asked = world.chain.estimateGas({ from: OWNER, to: OWNER, value: 1n, data: new Uint8Array(0) }, undefined, 100_000n);
    const contested = {
      ok: false,
      error: { kind: "Unreachable", message: expect.stringContaining("contradict each other"), isDisputed: true },
    };
    expect(await world.drive(asked)).toEqual(gas === null ? contested : { ok: true, value: gas });
  },
);

const reverts = (): never => {
  throw new RpcRefusal(3, "execution reverted: paused", "0x");
};
test.each([
  ["a refusal", 1, reverts],
  ["a refusal", 2, reverts],
  ["too little", 2, () => quantity(20_000n)],
  ["too much", 1, () => quantity(5_000_000n)],
  ["too much", 2, () => quantity(5_000_000n)],
] as const)("%s that one node invents where %s honest ones estimate no gas is no answer", async (_what, honest, says) => {
  const world = scriptedWorld(honest + 1);
  let isPaused = false;
  for (const n of world.nodes) {
    n.says.set("eth_estimateGas", () => {
      throw new RpcRefusal(-32601, "method not found");
    });
    n.says.set("eth_call", ([call], answer) => {
      const { from, gas } = call as { from?: string; gas?: string };
      if (from === undefined) return answer();
      return isPaused || (gas !== undefined && BigInt(gas) < 60_000n) ? reverts() : "0x";
    });
  }
  node(world, honest).says.set("eth_estimateGas", says);
  await world.drive(world.chain.refresh());
  const ask = () =>
    world.drive(world.chain.estimateGas({ from: OWNER, to: OWNER, value: 1n, data: new Uint8Array(0) }, undefined, 100_000n));
  expect(await ask()).toMatchObject({ ok: false, error: { kind: "Unreachable" } });
  isPaused = true;
  expect(await ask()).toMatchObject({ ok: false, error: { kind: "Reverted" } });
});

/** Of a contract that says nothing when it refuses, as USDT does: the words of geth up to 1.15.5 and all that is made from it, also later, and of reth. */
test.each([
  [-32000, "execution reverted"],
  [-32000, "invalid opcode: INVALID"],
  [-32000, "invalid jump destination"],
  [-32003, "EVM error: InvalidFEOpcode"],
  [-32000, "gas required exceeds allowance (8000000) or always failing transaction"],
  [-32003, "out of gas: gas required exceeds: 30000000"],
  [-32000, "out of gas"],
])("a contract that refuses a call without a word has refused it: %s %s", async (code, says) => {
  const world = scriptedWorld(3);
  for (const n of world.nodes) {
    n.says.set("eth_estimateGas", () => {
      throw new RpcRefusal(code, says);
    });
    n.says.set("eth_call", ([call], answer) => {
      if ((call as { from?: string }).from === undefined) return answer();
      throw new RpcRefusal(code, says);
    });
  }
  await world.drive(world.chain.refresh());
  const request = { from: OWNER, to: OWNER, value: 0n, data: new Uint8Array(0) };
  expect(await world.drive(world.chain.estimateGas(request))).toMatchObject({ ok: false, error: { kind: "Reverted" } });
  expect(await world.drive(world.chain.call(request))).toMatchObject({ ok: false, error: { kind: "Reverted" } });
});

test("a call has the gas it is given: one that asks for more is refused, as as many nodes say as must agree, whatever one of them says first", async () => {
  const world = scriptedWorld(2);
  for (const n of world.nodes)
    n.says.set("eth_call", ([call], answer) => {
      const { from, gas } = call as { from?: string; gas?: string };
      if (from === undefined) return answer();
      if (gas !== undefined && BigInt(gas) < 60_000n) throw new RpcRefusal(-32000, "out of gas");
      return "0x";
    });
  await world.drive(world.chain.refresh());
  const call = (gas?: bigint) =>
    world.drive(world.chain.call({ from: OWNER, to: OWNER, value: 0n, data: new Uint8Array(0) }, undefined, gas));
  expect([await call(), await call(60_000n)]).toMatchObject([{ ok: true }, { ok: true }]);
  expect(await call(59_999n)).toMatchObject({ ok: false, error: { kind: "Reverted" } });
  node(world, 0).says.set("eth_call", reverts);
  expect(await call(60_000n)).toMatchObject({ ok: false, error: { kind: "Unreachable" } });
});

test.each([
  [-32000, "missing trie node 5c1a (path 0a) state 0x1f is not available, not found"],
  [-32000, "header not found"],
  [-32000, "execution aborted (timeout = 5s)"],
  [-32005, "limit exceeded"],
  [-32603, "internal error"],
])("nodes that cannot carry a call out say nothing of the contract: %s %s", async (code, says) => {
  const world = scriptedWorld(3);
  for (const n of world.nodes)
    n.says.set("eth_estimateGas", () => {
      throw new RpcRefusal(code, says);
    });
  await world.drive(world.chain.refresh());
  const request = { from: OWNER, to: OWNER, value: 0n, data: new Uint8Array(0) };
  expect(await world.drive(world.chain.estimateGas(request))).toMatchObject({ ok: false, error: { kind: "Refused" } });
});

/** Of a call: what it asks of a swap contract. */
const isAskedForState = ([call]: readonly unknown[]): boolean => (call as { data: string }).data.startsWith("0x0716326d");

test.each([
  [-32005, "daily request count exceeded, request rate limited"],
  [429, "Your app has exceeded its compute units per second capacity."],
  [-32000, "header not found"],
])("nodes that do not look at a question now (%s %s) make no contract a swap contract, nor deny that it is one", async (code, says) => {
  const world = scriptedWorld(2);
  const refusal = (c: number, text: string) => (): never => {
    throw new RpcRefusal(c, text);
  };
  const [busy, odd] = [refusal(code, says), refusal(-32099, "words of its own")];
  const told = (honest: () => unknown): unknown => honest();
  type Says = (honest: () => unknown) => unknown;
  const ask = (state: Says, ...spend: readonly Says[]) => {
    for (const [i, n] of world.nodes.entries())
      n.says.set("eth_call", (params, honest) => (isAskedForState(params) ? state : (spend[i] ?? told))(honest));
    return world.drive(world.chain.checkSwapContract(SWAP_CONTRACT));
  };
  await world.drive(world.chain.refresh());
  // It takes claims of what it never got: money that is paid into it is gone.
  expect(await ask(told, told, told)).toMatchObject({ error: { kind: "OtherInterface" } });
  expect(await ask(told, busy, busy)).toMatchObject({ error: { kind: "Refused", message: expect.stringContaining(says.slice(0, 20)) } });
  expect(await ask(busy, odd, odd)).toMatchObject({ error: { kind: "Unreachable" } });
  expect(await ask(told, busy, odd)).toEqual({ ok: true, value: undefined });
});

test("of three nodes one estimates no gas: one of the others that would refuse the call decides nothing", async () => {
  const world = scriptedWorld(3);
  const lacks = () => {
    throw new RpcRefusal(-32601, "method not found");
  };
  node(world, 0).says.set("eth_estimateGas", lacks);
  node(world, 1).says.set("eth_estimateGas", () => quantity(60_000n));
  node(world, 2).says.set("eth_estimateGas", () => {
    throw new RpcRefusal(3, "execution reverted", "0x");
  });
  await world.drive(world.chain.refresh());
  const asked = world.chain.estimateGas({ from: OWNER, to: OWNER, value: 1n, data: new Uint8Array(0) });
  expect(await world.drive(asked)).toMatchObject({ ok: false, error: { kind: "Unreachable" } });
});

test("a token balance is what a majority of the nodes says; one that lies, or says the token does not answer, is outvoted", async () => {
  for (const lie of [`${"1".padStart(64, "0")}${"f".repeat(64)}`, "0".repeat(128)]) {
    const world = scriptedWorld(3);
    for (const n of world.nodes) n.latencyMs = 200;
    const liar = node(world, 1);
    liar.latencyMs = 1;
    liar.says.set("eth_call", (params, honest) => ((params[0] as { to?: string }).to === undefined ? `0x${lie}` : honest()));
    await world.drive(world.chain.watchTokens(OWNER, [SWAP_CONTRACT]));
    world.evm.mine();
    await world.drive(world.chain.refresh());
    expect(world.chain.token(SWAP_CONTRACT, OWNER)).toMatchObject({ balance: 9n });
    expect(world.chain.status()).toMatchObject({ state: "ready", error: null });
    await world.drive(world.chain.close());
  }
});

test("two nodes that say different balances of a token: the last one both agreed on stays, and the status names them", async () => {
  const world = scriptedWorld(2);
  await world.drive(world.chain.watchTokens(OWNER, [SWAP_CONTRACT]));
  node(world, 1).says.set("eth_call", (params, honest) =>
    (params[0] as { to?: string }).to === undefined ? `0x${"1".padStart(64, "0")}${"8".padStart(64, "0")}` : honest(),
  );
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.token(SWAP_CONTRACT, OWNER)).toMatchObject({ balance: 9n });
  expect(world.chain.status().error).toContain("contradict each other about token balances (a, b)");
});

test.each([
  ["limit how often they are asked", -32005, "limit exceeded", 9n],
  ["have no time for it", -32603, "internal error", 9n],
  ["say that the token refuses to tell", 3, "execution reverted", undefined],
] as const)(
  "nodes that %s when they are asked for a token's balance: the last one they told counts only where they tell nothing",
  async (_, code, text, left) => {
    const world = scriptedWorld(3);
    await world.drive(world.chain.watchTokens(OWNER, [SWAP_CONTRACT, OWNER]));
    for (const { says } of world.nodes)
      says.set("eth_call", (params, honest) => {
        const { to } = params[0] as { to?: string };
        if (to === undefined || to === `0x${SWAP_CONTRACT}`) throw new RpcRefusal(code, text);
        return to === `0x${OWNER}` ? `0x${"7".padStart(64, "0")}` : honest();
      });
    world.evm.mine();
    await world.drive(world.chain.refresh());
    expect(world.chain.status().state).toBe("ready");
    expect(world.chain.token(SWAP_CONTRACT, OWNER)?.balance).toBe(left);
    expect(world.chain.token(OWNER, OWNER)?.balance).toBe(7n);
    expect(world.chain.status().error === null).toBe(left === undefined);
  },
);

test("a nonce or an amount of gas that cannot be is not believed, not even of the only node", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  only.says.set("eth_getTransactionCount", (params, honest) => (params[1] === "pending" ? quantity(1_006n) : honest()));
  await world.drive(world.chain.watchAccount(OWNER));
  only.says.set("eth_estimateGas", () => quantity(2n ** 64n));
  expect(world.chain.account(OWNER)).toMatchObject({ nonce: 5n, pendingNonce: 5n });
  only.says.set("eth_getTransactionCount", (params, honest) => (params[1] === "pending" ? quantity(1_005n) : honest()));
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.account(OWNER)).toMatchObject({ nonce: 5n, pendingNonce: 1_005n });
  const gas = world.chain.estimateGas({ from: OWNER, to: OWNER, value: 1n, data: new Uint8Array(0) });
  expect(await world.drive(gas)).toMatchObject({ ok: false, error: { kind: "Unreachable" } });
  only.says.set("eth_getTransactionCount", () => quantity(2n ** 64n - 1n));
  world.evm.mine();
  expect(await failure(world)).toContain("a nonce too large");
});

test("one node of three cannot name a nonce that is too high, also while another does not answer", async () => {
  const world = scriptedWorld(3);
  const pending = (n: number, count: () => string): void =>
    void node(world, n).says.set("eth_getTransactionCount", (params, honest) => (params[1] === "pending" ? count() : honest()));
  pending(0, () => quantity(9n));
  pending(1, () => {
    throw new RpcRefusal(-32000, "try later");
  });
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.account(OWNER)).toMatchObject({ nonce: 5n, pendingNonce: 5n });
  pending(2, () => {
    throw new RpcRefusal(-32000, "try later");
  });
  world.evm.mine();
  await world.drive(world.chain.refresh());
  expect(world.chain.account(OWNER)).toMatchObject({ nonce: 5n, pendingNonce: 5n });
});

test.each([1, 2] as const)(
  "a receipt of a watched transaction that cannot be read keeps no look of %i nodes from the rest, and counts when it can",
  async (count) => {
    const world = scriptedWorld(count);
    const [tx] = world.evm.mine([{ kind: "sent", id: "77".repeat(32) }]);
    const txid = tx?.txid ?? expect.fail("no transaction");
    for (const one of world.nodes)
      one.says.set("eth_getTransactionReceipt", ([asked], honest) => (asked === `0x${txid}` ? { status: "yes" } : honest()));
    await world.drive(world.chain.watchTx(txid, 0));
    await world.drive(world.chain.watchAccount(OWNER));
    world.evm.mine([SENT]);
    await world.drive(world.chain.watchPayment(KEY, 0));
    expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "complete" });
    expect([world.chain.isUnread(txid), world.chain.status().state]).toEqual([true, "ready"]);
    expect(world.chain.status().error).toContain(`The receipt of ${txid} could not be read.`);
    const isOf = ({ method, params }: { readonly method: string; readonly params: readonly unknown[] }): boolean =>
      method === "eth_getTransactionReceipt" && params[0] === `0x${txid}`;
    const asked = (): number => world.nodes.flatMap(({ calls }) => calls.filter(isOf)).length;
    const before = asked();
    for (let i = 0; i < 2; i++) await world.drive(world.chain.refresh());
    expect(asked()).toBe(before);
    // Soon at first, then ever more seldom.
    const looks = async (sec: number): Promise<number> => {
      const since = asked();
      await pass(world, sec);
      return asked() - since;
    };
    const first = await looks(6);
    const more = await looks(120);
    expect([first > 0, more > first, more <= 5 * first]).toEqual([true, true, true]);
    for (const one of world.nodes) one.says.clear();
    await pass(world, 61);
    world.evm.mine();
    await world.drive(world.chain.refresh());
    expect(world.chain.tx(txid)).toMatchObject({ receipt: { succeeded: true } });
    expect([world.chain.isUnread(txid), world.chain.status().error]).toEqual([false, null]);
  },
);

/** It answers calls of this method, and with this word in them, after its deadline and all others at once. */
function stallWith(silent: ScriptedNode, asked: string, word = ""): void {
  const answer = silent.callBatch.bind(silent);
  silent.callBatch = (calls, options) => {
    silent.hangs = calls.some(({ method, params }) => method === asked && JSON.stringify(params).includes(word));
    return answer(calls, options);
  };
}

test("two of three that tell their heads at once and leave the rest unanswered are waited for once in a look, not at each block below", async () => {
  const world = scriptedWorld(3, { timeoutMs: 10_000 });
  await world.drive(world.chain.watchAccount(OWNER));
  await world.drive(world.chain.watchPayment(KEY, 0));
  for (const silent of world.nodes.slice(1)) stallWith(silent, "eth_call", "");
  for (let i = 0; i < 6; i++) world.evm.mine();
  const beganMs = world.evm.clock.nowMs();
  await failure(world);
  expect(world.evm.clock.nowMs() - beganMs).toBeLessThan(20_000);
});

test.each([
  ["eth_gasPrice", ""],
  ["eth_getTransactionCount", ""],
  ["eth_getTransactionCount", "pending"],
  ["eth_call", ""],
  ["eth_getTransactionByHash", ""],
])("one of three that tells its head at once and leaves %s %s unanswered keeps no look waiting for its deadline", async (method, word) => {
  const world = scriptedWorld(3, { pollMs: 3_600_000, leastMs: 1 });
  const [silent, ...others] = world.nodes;
  if (silent) stallWith(silent, method, word);
  world.chain.watchTx("ab".repeat(32), 0).catch(() => undefined);
  for (const other of others) other.latencyMs = 100;
  await world.drive(world.chain.watchAccount(OWNER));
  await world.drive(world.chain.watchPayment(KEY, 0));
  for (let blocks = 0; blocks < 4; blocks++) {
    await pass(world, 30);
    const [sent] = world.evm.mine(blocks === 0 ? [SENT] : []);
    const beganMs = world.evm.clock.nowMs();
    await world.drive(world.chain.refresh());
    expect(world.chain.status()).toMatchObject({ state: "ready", tip: { height: world.evm.tip.number } });
    expect(world.evm.clock.nowMs() - beganMs).toBeLessThan(5_000);
    if (sent) expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", sent: { txid: sent.txid } });
    expect(world.chain.gasPrices()?.legacy).toBe(2_000_000_000n);
  }
});

test.each([
  [-32602, "block range extends beyond current head block: requested 402, head 401"],
  [-32000, "requested block range [100, 402] is beyond latest executed block 401"],
  [-32001, "402 could not be found"],
  [429, "Your app has exceeded its compute units per second capacity."],
])(
  "a machine that refuses logs because it lacks the newest block, or is asked too often (%s %s), is asked for as many blocks in the next look",
  async (code, says) => {
    const world = scriptedWorld(1);
    const [paid] = world.evm.mine([SENT]);
    for (let i = 0; i < 300; i++) world.evm.mine();
    const only = node(world, 0);
    let refusals = 3;
    const ranges: number[] = [];
    only.says.set("eth_getLogs", (params, honest) => {
      const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
      ranges.push(Number(toBlock) - Number(fromBlock) + 1);
      if (refusals-- > 0) throw new RpcRefusal(code, says);
      return honest();
    });
    await world.drive(world.chain.watchPayment(KEY, 100));
    expect(world.chain.payment(KEY)).toMatchObject({ state: "sent", events: "searching" });
    await pass(world, 30);
    expect(world.chain.payment(KEY)).toMatchObject({ events: "complete", sent: { txid: paid?.txid } });
    expect(ranges).toEqual([302, 302, 302, 302]);
  },
);

test("a passing failure of a node for the tag of final blocks hides none of them, and is over in the next look but one", async () => {
  const world = scriptedWorld(1);
  const only = node(world, 0);
  for (let i = 0; i < 10; i++) world.evm.mine();
  await world.drive(world.chain.watchAccount(OWNER));
  const before = world.chain.status().tip?.finalized ?? expect.fail("nothing is final");
  only.says.set("eth_getBlockByNumber", ([at], honest) => {
    if (at === "finalized") throw new RpcRefusal(-32603, "Internal error");
    return honest();
  });
  world.evm.mine();
  await world.drive(world.chain.refresh());
  only.says.clear();
  expect(world.chain.status().tip?.finalized).toBe(before);
  for (let i = 0; i < 3; i++) {
    world.evm.mine();
    await pass(world, 4);
  }
  expect(world.chain.status().tip?.finalized).toBe(before + 4);
});

/** One node that has called a block final, and fails at that tag from now on. */
async function withoutTag(): Promise<ScriptedWorld> {
  const world = scriptedWorld(1);
  for (let i = 0; i < 200; i++) world.evm.mine();
  await world.drive(world.chain.watchAccount(OWNER));
  expect(world.chain.status().tip?.finalized).not.toBeNull();
  node(world, 0).says.set("eth_getBlockByNumber", ([at], honest) => {
    if (at === "finalized") throw new RpcRefusal(-39001, "finalized block not found");
    return honest();
  });
  return world;
}

test("what a node called final is not so on a chain that was begun anew", async () => {
  const world = await withoutTag();
  node(world, 0).chain = world.evm.fork();
  node(world, 0).chain.rewind(195);
  for (let i = 0; i < 10; i++) {
    node(world, 0).chain.mine();
    await pass(world, 15);
  }
  expect(world.chain.status()).toMatchObject({ state: "ready", tip: { finalized: null } });
});

test("a node that calls nothing final for an hour passes for one that knows no final blocks", async () => {
  const world = await withoutTag();
  const before = world.chain.status().tip?.finalized;
  for (let minute = 0; minute < 62; minute++) {
    world.evm.mine();
    await pass(world, 60);
    if (minute === 50) expect(world.chain.status().tip?.finalized).toBe(before);
  }
  expect(world.chain.status().tip?.finalized).toBeNull();
});
