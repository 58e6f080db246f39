import { z } from "zod";
import { reasonOf } from "../core/util/reasonOf.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { wantedCoin, wrongOrder } from "./accountCoins.ts";
import { DEMO_COINS } from "./demoCoins.ts";

/** Limits keep a typing mistake from starting a thousand processes. */
const MAX_NODES = 50;
const MAX_COINS = 50;

const amount = z.string().regex(/^\d{1,12}(\.\d{1,8})?$/, 'a decimal amount such as "100"');
/** What a node follows the chains of UTXO coins through. */
const backend = z.enum(["daemon", "electrum"]);
const node = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, "letters, digits, _ and -, at most 32"),
  passphrase: z.string().min(1).max(1_000).optional(),
  seed: z.boolean().default(false),
  enable: z.array(z.string().max(64)).max(MAX_COINS).default([]),
  fund: z.record(z.string().max(64), amount).default({}),
  /** For all its coins, or by ticker. Default: the network's. */
  backend: z.union([backend, z.record(z.string().max(64), backend)], '"daemon" or "electrum", or these by ticker').optional(),
  /** Any MM2.json fields; they win over what the network would set. */
  config: z.record(z.string(), z.unknown()).default({}),
});
const topology = z.strictObject({
  coins: z
    .array(z.looseObject({ coin: z.string().min(1).max(64) }))
    .min(1)
    .max(MAX_COINS)
    .default([...DEMO_COINS]),
  block_time_s: z.number().positive().max(3_600).default(1),
  backend: backend.default("daemon"),
  nodes: z.array(node).min(1).max(MAX_NODES),
});

export type Topology = z.infer<typeof topology>;
export type TopologyNode = Topology["nodes"][number];
export type Backend = z.infer<typeof backend>;

/** What a node follows a coin's chain through; means nothing for coins of account chains. */
export function backendOf(network: Topology, node: TopologyNode, coin: string): Backend {
  return (typeof node.backend === "object" ? node.backend[coin] : node.backend) ?? network.backend;
}

/** Whether any node follows the coin through Electrum servers. */
export const needsElectrum = (network: Topology, coin: string): boolean =>
  network.nodes.some((n) => n.enable.includes(coin) && backendOf(network, n, coin) === "electrum");

/** A seed, a maker and a taker with some coins each. */
export const DEFAULT_TOPOLOGY: Topology = topology.parse({
  nodes: [
    { name: "seed", seed: true },
    { name: "alice", enable: ["DOC", "MARTY"], fund: { DOC: "100", MARTY: "100" } },
    { name: "bob", enable: ["DOC", "MARTY"], fund: { DOC: "100", MARTY: "100" } },
  ],
});

/** Reads a topology file. The error names the place and what is wrong with it. */
export function parseTopology(text: string): Result<Topology, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return err(`the topology is not JSON: ${reasonOf(cause)}`);
  }
  const parsed = topology.safeParse(value);
  if (!parsed.success) {
    const first = parsed.error.issues[0];
    return err(`topology: ${first?.path.join(".") ?? ""}: ${first?.message ?? "not understood"}`);
  }
  return check(parsed.data);
}

function check(t: Topology): Result<Topology, string> {
  const names = t.nodes.map((n) => n.name);
  const twice = names.find((n, i) => names.indexOf(n) !== i);
  if (twice) return err(`topology: two nodes are called ${twice}`);
  if (!t.nodes.some((n) => n.seed)) return err('topology: one node must be a seed ("seed": true): the others find each other through it');
  const tickers = new Set(t.coins.map((c) => c.coin));
  for (const entry of t.coins) {
    const wanted = wantedCoin(entry);
    if (wanted.kind === "token" && !t.coins.some((c) => c.coin === wanted.platform && wantedCoin(c).kind === "platform"))
      return err(`topology: the token ${entry.coin} needs its platform coin ${wanted.platform} among the coins`);
  }
  for (const n of t.nodes) {
    const missing = [...n.enable, ...Object.keys(n.fund)].find((c) => !tickers.has(c));
    if (missing) return err(`topology: node ${n.name} uses ${missing}, which is not among the coins`);
    const unfunded = Object.keys(n.fund).find((c) => !n.enable.includes(c));
    if (unfunded) return err(`topology: node ${n.name} is funded with ${unfunded} but does not enable it`);
    const unknown = typeof n.backend === "object" ? Object.keys(n.backend).find((c) => !n.enable.includes(c)) : undefined;
    if (unknown) return err(`topology: node ${n.name} names a backend for ${unknown} but does not enable it`);
    const wrong = wrongOrder(n.name, n.enable, t.coins);
    if (wrong) return err(`topology: ${wrong}`);
  }
  return ok(t);
}
