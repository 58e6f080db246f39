import { add, cmp, decimal, type Rational, sub, toDecimalString, ZERO } from "../core/money/rational.ts";
import { reasonOf } from "../core/util/reasonOf.ts";
import { ok } from "../core/util/result.ts";
import { needsAnvil } from "./accountCoins.ts";
import { anvilProgram, NO_ANVIL } from "./anvilProcess.ts";
import { type DemoPair, demoPair, feeBound, PLAIN_PAIR } from "./demoPair.ts";
import type { DevChain } from "./devChain.ts";
import { type DevNode, type Devnet, startDevnet, until } from "./devnet.ts";
import { readOptions } from "./readOptions.ts";

export const DEMO_HELP = `Usage: swapnode demo [--pair BASE/REL] [--backend daemon|electrum] [--keep]

Two nodes on two private chains find each other, match and swap, atomically. Takes less than a minute.

  --pair BASE/REL   two different ones of UTXO, ETH and ERC20, for example UTXO/ERC20. ETH and ERC20 run on anvil, with
                    a swap contract and a test token deployed for the demo (default: two UTXO coins)
  --backend B       what the nodes follow UTXO coins through: the chains' own daemons, or Electrum servers over them (default: daemon)
  --keep            leave the network running afterwards and print commands to try
`;

/** The maker sells base for rel, the taker buys part of it. */
const PRICE = "0.5";
const OFFERED = "10";
const BOUGHT = "4";
const SWAP_TIMEOUT_MS = 50_000;
const PAID = "2";
const DEX_FEE_BOUND = decimal("0.003");

type TimedEvent = { readonly timestamp: number; readonly event: { readonly type: string; readonly data?: unknown } };
type Status = { readonly events: readonly TimedEvent[]; readonly is_finished: boolean; readonly is_success?: boolean };
type Balances = ReadonlyMap<string, ReadonlyMap<string, Rational>>;

const print = (line = ""): void => void process.stdout.write(`${line}\n`);

function nodeOf(net: Devnet, name: string): DevNode {
  const node = net.nodes.get(name);
  if (!node) throw new Error(`the network has no node ${name}`);
  return node;
}

/** As the chains say it, or the nodes where the demo's chain keeps no list of what an address has. */
async function balances(net: Devnet, coins: readonly string[]): Promise<Balances> {
  const out = new Map<string, Map<string, Rational>>();
  for (const node of [nodeOf(net, "alice"), nodeOf(net, "bob")]) {
    const row = new Map<string, Rational>();
    for (const coin of coins) {
      const onChain = await net.chains.get(coin)?.balance?.(node.addresses[coin] ?? "");
      row.set(coin, onChain === undefined ? await balanceOf(node, coin) : decimal(onChain));
    }
    out.set(node.name, row);
  }
  return out;
}

async function balanceOf(node: DevNode, coin: string): Promise<Rational> {
  const reply = await node.rpc.call("my_balance", { coin });
  return add(decimal(String(reply.balance)), decimal(String(reply.unspendable_balance)));
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
    const found = await (chain.contracts ? accountConfirmations(chain, txid) : utxoConfirmations(chain, txid));
    if (found !== null) return `${found} on ${ticker}`;
  }
  return "?";
}

async function utxoConfirmations(chain: DevChain, txid: string): Promise<number | null> {
  const found = await chain.daemon.call("getrawtransaction", [txid, 1]).catch(() => null);
  const { confirmations, rawconfirmations } = (found ?? {}) as { confirmations?: number; rawconfirmations?: number };
  return found === null ? null : (rawconfirmations ?? confirmations ?? 0);
}

async function accountConfirmations(chain: DevChain, txid: string): Promise<number | null> {
  const hash = `0x${txid.replace(/^0x/, "")}`;
  const receipt = (await chain.daemon.call("eth_getTransactionReceipt", [hash])) as { blockNumber: string } | null;
  return receipt === null ? null : Number(await chain.daemon.call("eth_blockNumber")) - Number(receipt.blockNumber) + 1;
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

function checkBalances({ base, rel, coins }: DemoPair, before: Balances, after: Balances): void {
  const change = (node: string, coin: string): Rational => sub(at(after, node, coin), at(before, node, coin));
  const [bought, paid] = [decimal(BOUGHT), decimal(PAID)];
  const wanted: Readonly<Record<string, Readonly<Record<string, Rational>>>> = {
    alice: { [base]: sub(ZERO, bought), [rel]: paid },
    bob: { [base]: bought, [rel]: sub(ZERO, paid) },
  };
  for (const [node, changes] of Object.entries(wanted)) {
    for (const coin of coins) {
      const most = changes[coin] ?? ZERO;
      const dexFee = node === "bob" && coin === rel ? DEX_FEE_BOUND : ZERO;
      expectBetween(`${node}'s ${coin}`, change(node, coin), sub(sub(most, dexFee), feeBound(coin)), most);
    }
  }
}

function printBalances(title: string, b: Balances): void {
  print(title);
  for (const [node, row] of b)
    print(`  ${node.padEnd(8)}${[...row].map(([coin, v]) => `${toDecimalString(v)} ${coin}`.padEnd(32)).join("")}`);
}

async function trade(net: Devnet, pair: DemoPair): Promise<void> {
  const { base, rel } = pair;
  const alice = nodeOf(net, "alice");
  const bob = nodeOf(net, "bob");
  const before = await balances(net, pair.coins);
  print();
  printBalances("Balances before", before);
  print();
  await alice.rpc.call("setprice", { base, rel, price: PRICE, volume: OFFERED });
  print(`alice offers ${OFFERED} ${base} at ${PRICE} ${rel} each`);
  await until("bob sees the order", async () => {
    const book = await bob.rpc.call("orderbook", { base, rel });
    return Number(book.numasks) > 0 ? true : null;
  });
  print("bob sees the order in his order book");
  const { result } = await bob.rpc.call("buy", { base, rel, price: PRICE, volume: BOUGHT });
  const { uuid } = result as { uuid: string };
  print(`bob buys ${BOUGHT} ${base}: swap ${uuid}`);
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
  const after = await balances(net, pair.coins);
  print();
  printBalances("Balances after", after);
  checkBalances(pair, before, after);
  print();
  print("Every figure is as it must be: the swap is complete on both chains.");
}

function printCommands(net: Devnet, { base, rel }: DemoPair): void {
  const bob = nodeOf(net, "bob");
  const line = (body: Record<string, unknown>): string =>
    `  curl -s ${bob.rpc.url} -d '${JSON.stringify({ userpass: bob.rpc.userpass, ...body })}'`;
  print("\nThe network stays up until Ctrl-C. Things to try:");
  print(line({ method: "orderbook", base, rel }));
  print(line({ method: "buy", base, rel, price: PRICE, volume: "1" }));
  print(line({ method: "my_recent_swaps" }));
  print(line({ method: "my_balance", coin: base }));
}

/**
 * `swapnode demo`.
 * @param findAnvil where the program of account chains is
 * @returns the exit code
 */
export async function main(args: readonly string[], findAnvil = anvilProgram): Promise<number> {
  const options = readOptions(args, {
    pair: { type: "string" },
    backend: { type: "string", default: "daemon" },
    keep: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  const refuse = (reason: string): number => {
    process.stderr.write(`swapnode demo: ${reason} (see swapnode demo --help)\n`);
    return 2;
  };
  if (!options.ok) return refuse(options.error);
  const values = options.value;
  if (values.help) {
    process.stdout.write(DEMO_HELP);
    return 0;
  }
  const pair = values.pair === undefined ? ok(PLAIN_PAIR) : demoPair(values.pair);
  if (!pair.ok) return refuse(pair.error);
  const { backend } = values;
  if (backend !== "daemon" && backend !== "electrum") return refuse(`--backend takes daemon or electrum, not ${JSON.stringify(backend)}`);
  if (needsAnvil(pair.value.topology.coins) && findAnvil() === null) {
    process.stderr.write(`swapnode demo: ${NO_ANVIL}\n`);
    return 1;
  }
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  let net: Devnet | null = null;
  try {
    print("Starting two chains, a seed node, a maker (alice) and a taker (bob) …");
    net = await startDevnet({ topology: { ...pair.value.topology, backend }, keepDataDir: null, say: (line) => print(`  ${line}`) });
    const wasInterrupted = await Promise.race([trade(net, pair.value).then(() => false), interrupted.then(() => true)]);
    if (wasInterrupted) throw new Error("interrupted before the swap was done");
    if (values.keep) {
      printCommands(net, pair.value);
      await interrupted;
    }
    return 0;
  } catch (cause) {
    print();
    print(`The demo failed: ${reasonOf(cause)}`);
    for (const node of net?.nodes.values() ?? []) print(`--- last lines of ${node.name}\n${node.process.tail().slice(-15).join("\n")}`);
    return 1;
  } finally {
    await net?.stop();
  }
}
