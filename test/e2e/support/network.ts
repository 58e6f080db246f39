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

/** Runs `work` on a network of its own, which is gone afterwards; after a failure the nodes' last lines are printed. */
export async function withNetwork(
  topology: Topology,
  work: (network: TestNetwork) => Promise<void>,
  starters: Pick<DevnetOptions, "startChain" | "startAccountChain"> = {},
): Promise<void> {
  const logs = new NodeLogs();
  let net: Devnet | null = null;
  try {
    net = await startDevnet({
      topology,
      keepDataDir: null,
      say: () => undefined,
      onLog: (node, line) => logs.add(node, line),
      ...starters,
    });
    await work(networkOf(net, logs));
  } catch (cause) {
    for (const name of logs.names()) process.stderr.write(`--- log of ${name}\n${logs.tail(name, TAIL).join("\n")}\n`);
    throw cause;
  } finally {
    await net?.stop();
  }
}

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
