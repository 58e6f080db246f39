import { appendFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf } from "../core/util/reasonOf.ts";
import type { DevChain } from "./devChain.ts";
import { type Devnet, startDevnet } from "./devnet.ts";
import { readOptions } from "./readOptions.ts";
import { DEFAULT_TOPOLOGY, parseTopology, type Topology } from "./topology.ts";

export const DEVNET_HELP = `Usage: swapnode devnet [--json] [--topology FILE] [--keep-data DIR]

Starts a private network on this machine and leaves it running until Ctrl-C.

  --json            print one line of JSON on standard output when everything is ready
  --topology FILE   coins and nodes; see docs/operations/devnet.md (default: a seed, a maker, a taker)
  --keep-data DIR   keep the nodes' data in DIR instead of a temporary folder, and their logs in DIR/NAME.log
`;

const chainLine = ({ rpcUrl, electrum, contracts }: DevChain): object => ({
  rpc_url: rpcUrl,
  ...(electrum ? { electrum: electrum.map(({ url }) => url) } : {}),
  ...(contracts ? { swap_contract_address: contracts.swap } : {}),
  ...(contracts?.token ? { contract_address: contracts.token } : {}),
});

/** The one line of `--json`. */
export function readyLine(net: Devnet): string {
  const nodes = Object.fromEntries(
    [...net.nodes.values()].map((n) => [
      n.name,
      { url: n.rpc.url, userpass: n.rpc.userpass, pubkey: n.pubkey, addresses: n.addresses, data_dir: n.dataDir, pid: n.process.pid },
    ]),
  );
  const chains = Object.fromEntries([...net.chains].map(([ticker, c]) => [ticker, chainLine(c)]));
  return JSON.stringify({ ready: true, nodes, chains });
}

/** What is said instead to a person. */
export function readyText(net: Devnet): string {
  const calls = [...net.nodes.values()].map(
    (n) => `${n.name}: curl -s ${n.rpc.url} -d '{"userpass":"${n.rpc.userpass}","method":"version"}'`,
  );
  return `${calls.join("\n")}\nThe network stays up until Ctrl-C.`;
}

/** Ctrl-C may arrive twice, from the terminal and through the launcher: within this time it is one request. */
const SAME_REQUEST_MS = 500;

/** Resolves at the first signal to stop; a later one ends the process at once, and the nodes end with it. */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    let askedAtMs: number | null = null;
    const onSignal = (): void => {
      const nowMs = Date.now();
      if (askedAtMs !== null && nowMs - askedAtMs > SAME_REQUEST_MS) process.exit(1);
      askedAtMs ??= nowMs;
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  });
}

async function readTopology(file: string | undefined): Promise<Topology> {
  if (file === undefined) return DEFAULT_TOPOLOGY;
  const parsed = parseTopology(await readFile(file, "utf8"));
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

/** `swapnode devnet`. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const options = readOptions(args, {
    json: { type: "boolean" },
    topology: { type: "string" },
    "keep-data": { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (!options.ok) {
    say(`swapnode devnet: ${options.error} (see swapnode devnet --help)`);
    return 2;
  }
  const values = options.value;
  if (values.help) {
    process.stdout.write(DEVNET_HELP);
    return 0;
  }
  const stopped = firstSignal();
  const keepDataDir = values["keep-data"] ?? null;
  let net: Devnet;
  try {
    net = await startDevnet({
      topology: await readTopology(values.topology),
      keepDataDir,
      say,
      onLog: (node, line) => {
        if (keepDataDir !== null) appendFileSync(join(keepDataDir, `${node}.log`), `${line}\n`, { mode: 0o600 });
      },
      interrupted: stopped,
    });
  } catch (cause) {
    say(reasonOf(cause));
    return 1;
  }
  if (values.json) process.stdout.write(`${readyLine(net)}\n`);
  else say(readyText(net));
  await stopped;
  await net.stop();
  return 0;
}
