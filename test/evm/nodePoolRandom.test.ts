import { expect, test } from "vitest";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import { type Rng, randomBelow } from "../../src/ports/rng.ts";
import { PAYMENT_ID, RpcRefusal, type ScriptedEvm, type ScriptedNode, SWAP_CONTRACT, scriptedWorld } from "./support/scriptedEvm.ts";

const KEY: PaymentKey = { contract: SWAP_CONTRACT, id: PAYMENT_ID };
const EVENTS = ["sent", "spent"] as const;
const STATES = ["uninitialized", "sent", "spent"] as const;
const SEEDS = Number(process.env.NODE_POOL_SEEDS ?? 15);
const FIRST_SEED = Number(process.env.NODE_POOL_FIRST_SEED ?? 1);
const ROUNDS = 25;
/** A node that answers within it and is no further behind is in step. */
const SETTLE_SEC = 45;

/** What each kind of liar does to a node of a chain; it begins to lie when it is drawn. */
const LIES: readonly ((node: ScriptedNode, honest: ScriptedEvm, rng: Rng) => void)[] = [
  // Its own branch, with a payment that nobody made.
  (node, honest) => {
    node.chain = honest.fork();
    node.chain.rewind(1);
    node.chain.mine([{ kind: "sent", id: PAYMENT_ID }]);
    node.chain.mine([{ kind: "spent", id: PAYMENT_ID }]);
  },
  // Far above everybody.
  (node, honest) => {
    node.chain = honest.fork();
    for (let i = 0; i < 30; i++) node.chain.mine([{ kind: "sent", id: PAYMENT_ID }]);
  },
  // The right blocks, and another state of the contract.
  (node) => {
    node.says.set("eth_call", (_params, honest) => {
      const told = String(honest());
      return `${told.slice(0, -1)}${(Number(told.at(-1)) + 1) % 3}`;
    });
  },
  // The right hash, and another time.
  (node) => {
    node.says.set("eth_getBlockByNumber", (_params, honest) => {
      const header = honest() as { timestamp: string } | null;
      return header && { ...header, timestamp: `0x${(Number(header.timestamp) + 7_200).toString(16)}` };
    });
  },
  // It shows no logs and no receipts, or refuses whatever it is asked.
  (node, _honest, rng) => {
    const refuses = randomBelow(rng, 2) === 0;
    const nothing = (): unknown => {
      if (refuses) throw new RpcRefusal(-32000, "no");
      return null;
    };
    for (const method of ["eth_getTransactionReceipt", "eth_getLogs", "eth_call", "eth_getBalance"]) node.says.set(method, nothing);
  },
];

type Mood = "honest" | "lagging" | "dying" | "lying";

/** Draws anew what a node is from now on. */
function become(node: ScriptedNode, mood: Mood, honest: ScriptedEvm, rng: Rng): void {
  node.chain = honest;
  node.says.clear();
  node.dead = false;
  node.hangs = false;
  node.behind = 0;
  node.latencyMs = 1 + randomBelow(rng, 400);
  if (mood === "lagging") node.behind = 1 + randomBelow(rng, 12);
  if (mood === "dying") node[randomBelow(rng, 2) === 0 ? "dead" : "hangs"] = true;
  if (mood === "lying") LIES[randomBelow(rng, LIES.length)]?.(node, honest, rng);
}

/** One life of a chain; throws what was broken. */
async function live(seed: number): Promise<{ readonly proceeded: number; readonly refused: number }> {
  const rng = seededRng(seed);
  const count = 3 + randomBelow(rng, 3);
  const need = Math.floor(count / 2) + 1;
  const world = scriptedWorld(count, { timeoutMs: 3_000 });
  const { evm, chain } = world;
  const honestStates = new Map<string, string>();
  const note = (): void => void honestStates.set(evm.tip.hash.slice(2), STATES[evm.tip.payments.get(PAYMENT_ID) ?? 0] ?? "?");
  note();
  chain.watchPayment(KEY, 0).catch(() => undefined);
  // Whoever lies does so from first to last, and liars are fewer than must agree: more of them decide whatever they like.
  const liars = randomBelow(rng, count - need + 1);
  let made = 0;
  let proceeded = 0;
  let refused = 0;
  const broken: string[] = [];
  chain.onChange(() => {
    const { tip } = chain.status();
    if (tip === null) return;
    const held = honestStates.get(tip.hash);
    if (held === undefined) broken.push(`block ${tip.height} is no honest node's`);
    const told = chain.payment(KEY);
    if (told === undefined) return;
    const fact = honestStates.get(told.block.hash);
    if (fact !== told.state) broken.push(`at block ${told.block.height} the payment is ${fact}, and was told to be ${told.state}`);
    if (told.block.hash !== tip.hash) broken.push(`the payment is of block ${told.block.height}, the tip is ${tip.height}`);
  });
  for (let round = 0; round < ROUNDS; round++) {
    const moods = world.nodes.map((_, i): Mood => {
      if (i < liars) return "lying";
      const drawn = randomBelow(rng, 10);
      return drawn < 2 ? "lagging" : drawn < 4 ? "dying" : "honest";
    });
    for (const [i, node] of world.nodes.entries()) become(node, moods[i] ?? "honest", evm, rng);
    for (let blocks = randomBelow(rng, 3); blocks >= 0; blocks--) {
      const kind = randomBelow(rng, 6) === 0 ? EVENTS[made++] : undefined;
      evm.mine(kind === undefined ? [] : [{ kind, id: PAYMENT_ID }]);
      note();
      await evm.clock.advance(randomBelow(rng, 9_000));
    }
    await evm.clock.advance(SETTLE_SEC * 1_000);
    evm.mine();
    note();
    await evm.clock.advance(SETTLE_SEC * 1_000);
    if (broken.length > 0) throw new Error(`seed ${seed}, round ${round}: ${broken[0]}`);
    const inStep = moods.filter((mood) => mood === "honest").length;
    const { state, tip } = chain.status();
    if (inStep < need) {
      refused++;
      continue;
    }
    if (state !== "ready" || tip?.height !== evm.tip.number)
      throw new Error(`seed ${seed}, round ${round} (${moods}): ${state} at ${tip?.height} of ${evm.tip.number}: ${chain.status().error}`);
    if (chain.payment(KEY)?.state !== honestStates.get(tip.hash)) throw new Error(`seed ${seed}, round ${round}: the payment is not told`);
    proceeded++;
  }
  await world.chain.close();
  return { proceeded, refused };
}

test(
  `whatever mixture of honest, late, dying and lying nodes: nothing is believed that no honest one has, and a majority in step goes on (seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1})`,
  async () => {
    let proceeded = 0;
    let refused = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const lived = await live(seed);
      proceeded += lived.proceeded;
      refused += lived.refused;
    }
    // Both happen often enough to mean something.
    expect(proceeded).toBeGreaterThan(SEEDS * 4);
    expect(refused).toBeGreaterThan(SEEDS);
  },
  60_000 + 2_000 * SEEDS,
);
