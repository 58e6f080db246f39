import { add, cmp, decimal, type Rational, sub, toDecimalString, ZERO } from "../core/money/rational.ts";
import { type DevNode, type Devnet, startDevnet, until } from "./devnet.ts";
import { readOptions } from "./readOptions.ts";
import { DEFAULT_TOPOLOGY } from "./topology.ts";

export const DEMO_HELP = `Usage: swapnode demo [--keep]

Two nodes on two embedded chains find each other, match and swap, atomically. Takes less than a minute.

  --keep   leave the network running afterwards and print commands to try
`;

/** What the demo trades: the maker sells DOC for MARTY, the taker buys part of it. */
const [BASE, REL] = ["DOC", "MARTY"];
const PRICE = "0.5";
const OFFERED = "10";
const BOUGHT = "4";
const SWAP_TIMEOUT_MS = 50_000;
/** Miner fees of a demo transaction stay far below this. */
const FEE_BOUND = decimal("0.001");

type TimedEvent = { readonly timestamp: number; readonly event: { readonly type: string; readonly data?: unknown } };
type Status = { readonly events: readonly TimedEvent[]; readonly is_finished: boolean; readonly is_success?: boolean };
type Balances = ReadonlyMap<string, ReadonlyMap<string, Rational>>;

const print = (line = ""): void => void process.stdout.write(`${line}\n`);

function nodeOf(net: Devnet, name: string): DevNode {
  const node = net.nodes.get(name);
  if (!node) throw new Error(`the network has no node ${name}`);
  return node;
}

async function balances(nodes: readonly DevNode[]): Promise<Balances> {
  const out = new Map<string, Map<string, Rational>>();
  for (const node of nodes) {
    const row = new Map<string, Rational>();
    for (const coin of [BASE, REL]) {
      const reply = await node.rpc.call("my_balance", { coin });
      row.set(coin, add(decimal(String(reply.balance)), decimal(String(reply.unspendable_balance))));
    }
    out.set(node.name, row);
  }
  return out;
}

const at = (b: Balances, node: string, coin: string): Rational => b.get(node)?.get(coin) ?? ZERO;

async function status(node: DevNode, uuid: string): Promise<Status | null> {
  const { result } = await node.rpc.call("my_swap_status", { params: { uuid } });
  return result as Status;
}

/** The transaction an event is about, if any. */
function txidOf(e: TimedEvent): string | null {
  const data = e.event.data as { tx_hash?: string; transaction?: { tx_hash?: string } } | null | undefined;
  return data?.tx_hash ?? data?.transaction?.tx_hash ?? null;
}

async function confirmationsOf(net: Devnet, txid: string): Promise<string> {
  for (const [ticker, chain] of net.chains) {
    const found = await chain.daemon.call("getrawtransaction", [txid, 1]).catch(() => null);
    const { confirmations, rawconfirmations } = (found ?? {}) as { confirmations?: number; rawconfirmations?: number };
    if (found) return `${rawconfirmations ?? confirmations ?? 0} on ${ticker}`;
  }
  return "?";
}

async function timeline(net: Devnet, who: readonly { readonly role: string; readonly status: Status }[]): Promise<void> {
  const all = who.flatMap(({ role, status: s }) => s.events.map((e) => ({ role, e }))).sort((a, b) => a.e.timestamp - b.e.timestamp);
  const start = all[0]?.e.timestamp ?? 0;
  print(`${"time".padEnd(9)}${"who".padEnd(8)}${"step".padEnd(36)}${"confirmations".padEnd(16)}transaction`);
  for (const { role, e } of all) {
    const txid = txidOf(e);
    const seconds = ((e.timestamp - start) / 1_000).toFixed(2);
    print(
      `${`${seconds} s`.padEnd(9)}${role.padEnd(8)}${e.event.type.padEnd(36)}${(txid ? await confirmationsOf(net, txid) : "").padEnd(16)}${txid ?? ""}`,
    );
  }
}

/** Fails unless `value` lies in [low, high]. */
function expectBetween(what: string, value: Rational, low: Rational, high: Rational): void {
  if (cmp(value, low) < 0 || cmp(value, high) > 0) {
    throw new Error(`${what} changed by ${toDecimalString(value)}, expected between ${toDecimalString(low)} and ${toDecimalString(high)}`);
  }
}

function checkBalances(before: Balances, after: Balances): void {
  const change = (node: string, coin: string): Rational => sub(at(after, node, coin), at(before, node, coin));
  const bought = decimal(BOUGHT);
  const paid = decimal("2");
  const dexFeeBound = decimal("0.003");
  expectBetween(`alice's ${BASE}`, change("alice", BASE), sub(sub(ZERO, bought), FEE_BOUND), sub(ZERO, bought));
  expectBetween(`alice's ${REL}`, change("alice", REL), sub(paid, FEE_BOUND), paid);
  expectBetween(`bob's ${BASE}`, change("bob", BASE), sub(bought, FEE_BOUND), bought);
  expectBetween(`bob's ${REL}`, change("bob", REL), sub(sub(sub(ZERO, paid), dexFeeBound), FEE_BOUND), sub(ZERO, paid));
}

function printBalances(title: string, b: Balances): void {
  print(title);
  for (const [node, row] of b)
    print(`  ${node.padEnd(8)}${[...row].map(([coin, v]) => `${toDecimalString(v)} ${coin}`.padEnd(26)).join("")}`);
}

async function trade(net: Devnet): Promise<void> {
  const alice = nodeOf(net, "alice");
  const bob = nodeOf(net, "bob");
  const before = await balances([alice, bob]);
  print();
  printBalances("Balances before", before);
  print();
  await alice.rpc.call("setprice", { base: BASE, rel: REL, price: PRICE, volume: OFFERED });
  print(`alice offers ${OFFERED} ${BASE} at ${PRICE} ${REL} each`);
  await until("bob sees the order", async () => {
    const book = await bob.rpc.call("orderbook", { base: BASE, rel: REL });
    return Number(book.numasks) > 0 ? true : null;
  });
  print("bob sees the order in his order book");
  const { result } = await bob.rpc.call("buy", { base: BASE, rel: REL, price: PRICE, volume: BOUGHT });
  const { uuid } = result as { uuid: string };
  print(`bob buys ${BOUGHT} ${BASE}: swap ${uuid}`);
  const shown = new Set<string>();
  const done = await until(
    "the swap",
    async () => {
      const [maker, taker] = [await status(alice, uuid), await status(bob, uuid)];
      for (const [role, s] of [
        ["alice", maker],
        ["bob", taker],
      ] as const) {
        for (const e of s?.events ?? []) {
          const line = `  ${role}: ${e.event.type}`;
          if (!shown.has(line)) print(line);
          shown.add(line);
        }
      }
      return maker?.is_finished && taker?.is_finished ? { maker, taker } : null;
    },
    SWAP_TIMEOUT_MS,
  );
  print();
  await timeline(net, [
    { role: "alice", status: done.maker },
    { role: "bob", status: done.taker },
  ]);
  if (!done.maker.is_success || !done.taker.is_success) throw new Error("the swap ended without success: see the steps above");
  const after = await balances([alice, bob]);
  print();
  printBalances("Balances after", after);
  checkBalances(before, after);
  print();
  print("Every figure is as it must be: the swap is complete on both chains.");
}

function printCommands(net: Devnet): void {
  const bob = nodeOf(net, "bob");
  const line = (body: Record<string, unknown>): string =>
    `  curl -s ${bob.rpc.url} -d '${JSON.stringify({ userpass: bob.rpc.userpass, ...body })}'`;
  print("\nThe network stays up until Ctrl-C. Things to try:");
  print(line({ method: "orderbook", base: BASE, rel: REL }));
  print(line({ method: "buy", base: BASE, rel: REL, price: PRICE, volume: "1" }));
  print(line({ method: "my_recent_swaps" }));
  print(line({ method: "my_balance", coin: BASE }));
}

/** `swapnode demo`. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args, { keep: { type: "boolean" }, help: { type: "boolean", short: "h" } });
  if (!options.ok) {
    process.stderr.write(`swapnode demo: ${options.error} (see swapnode demo --help)\n`);
    return 2;
  }
  const values = options.value;
  if (values.help) {
    process.stdout.write(DEMO_HELP);
    return 0;
  }
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  let net: Devnet | null = null;
  try {
    print("Starting two chains, a seed node, a maker (alice) and a taker (bob) …");
    net = await startDevnet({ topology: DEFAULT_TOPOLOGY, keepDataDir: null, say: (line) => print(`  ${line}`) });
    const wasInterrupted = await Promise.race([trade(net).then(() => false), interrupted.then(() => true)]);
    if (wasInterrupted) throw new Error("interrupted before the swap was done");
    if (values.keep) {
      printCommands(net);
      await interrupted;
    }
    return 0;
  } catch (cause) {
    print();
    print(`The demo failed: ${cause instanceof Error ? cause.message : String(cause)}`);
    for (const node of net?.nodes.values() ?? []) print(`--- last lines of ${node.name}\n${node.process.tail().slice(-15).join("\n")}`);
    return 1;
  } finally {
    await net?.stop();
  }
}
