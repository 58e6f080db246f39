import { type DevNode, type Devnet, type DevnetOptions, startDevnet } from "../../../src/devnet/devnet.ts";
import { parseTopology, type Topology } from "../../../src/devnet/topology.ts";
import { NodeLogs } from "./nodeLogs.ts";

/** A running network and what its nodes have said. */
export type TestNetwork = {
  readonly net: Devnet;
  readonly logs: NodeLogs;
  node(name: string): DevNode;
  /** `kill -9`, and the process is gone. */
  kill(name: string): Promise<void>;
  /** Starts a node whose process is gone, and enables its coins. */
  revive(name: string): Promise<DevNode>;
};

/** Lines of each node's log printed after a failure. */
const TAIL = 60;

export function topologyOf(value: unknown): Topology {
  const parsed = parseTopology(JSON.stringify(value));
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.value;
}

type Starters = Pick<DevnetOptions, "startChain" | "startAccountChain">;

async function start(topology: Topology, logs: NodeLogs, starters: Starters): Promise<TestNetwork> {
  const onLog = (node: string, line: string): void => logs.add(node, line);
  return networkOf(await startDevnet({ topology, keepDataDir: null, say: () => undefined, onLog, ...starters }), logs);
}

/** What the nodes said last, for whoever reads about a failure. */
export function printTails(logs: NodeLogs): void {
  for (const name of logs.names()) process.stderr.write(`--- log of ${name}\n${logs.tail(name, TAIL).join("\n")}\n`);
}

/** Runs `work` on a network of its own, which is gone afterwards; after a failure the nodes' last lines are printed. */
export async function withNetwork(
  topology: Topology,
  work: (network: TestNetwork) => Promise<void>,
  starters: Starters = {},
): Promise<void> {
  const logs = new NodeLogs();
  let network: TestNetwork | null = null;
  try {
    network = await start(topology, logs, starters);
    await work(network);
  } catch (cause) {
    printTails(logs);
    throw cause;
  } finally {
    await network?.net.stop();
  }
}

/** A network that several tests share; whoever starts it stops it. */
export const startNetwork = (topology: Topology, starters: Starters = {}): Promise<TestNetwork> =>
  start(topology, new NodeLogs(), starters);

function networkOf(net: Devnet, logs: NodeLogs): TestNetwork {
  const node = (name: string): DevNode => {
    const found = net.nodes.get(name);
    if (!found) throw new Error(`the network has no node ${name}`);
    return found;
  };
  return {
    net,
    logs,
    node,
    async kill(name) {
      node(name).process.kill("SIGKILL");
      await node(name).process.exited;
    },
    async revive(name) {
      const again = await net.restart(name);
      await net.enableCoins(again);
      return again;
    },
  };
}
