import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { netidPorts } from "../core/gossip/ports.ts";

function listens(host: string, port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(port, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : null));
    });
  });
}

/**
 * Ports are drawn below the range systems give to outgoing connections (Linux: from 32768): between our test and the
 * node's own listening such a connection could otherwise take the port.
 */
const PORTS: Range = [12_000, 32_000];
const TRIES = 50;

/**
 * `1/2` in it: only the first half of the ranges is drawn from. Networks that start at once on one machine, each with a share of its
 * own, then never draw a port that another one has drawn and not yet opened.
 */
export const PORT_SHARE_VARIABLE = "SWAPNODE_PORT_SHARE";

type Range = readonly [first: number, end: number];

/** Throws on a share that means nothing. */
function shareOf([first, end]: Range): Range {
  const text = process.env[PORT_SHARE_VARIABLE] ?? "1/1";
  const [, part, parts] = (/^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []).map(Number);
  if (part === undefined || parts === undefined || part < 1 || part > parts)
    throw new Error(`${PORT_SHARE_VARIABLE} is a share such as 1/2, not ${JSON.stringify(text)}`);
  const size = Math.floor((end - first) / parts);
  return [first + (part - 1) * size, first + part * size];
}

/** Drawn by this process: whoever drew one may not have opened it yet. */
const drawn = new Set<number>();

/** A TCP port of the loopback address that was free a moment ago, and that this process has not drawn before. */
export async function freePort(): Promise<number> {
  const [first, end] = shareOf(PORTS);
  for (let i = 0; i < TRIES; i++) {
    const port = randomInt(first, end);
    if (drawn.has(port)) continue;
    drawn.add(port);
    if ((await listens("127.0.0.1", port)) !== null) return port;
  }
  throw new Error(`no free TCP port between ${first} and ${end} on 127.0.0.1`);
}

/** Private netids that belong to no public network; their peer-to-peer ports lie in the same range. */
const NETIDS: Range = [1_100, 6_000];

/** A netid whose peer-to-peer port is free on all these loopback addresses. */
export async function freeNetid(hosts: readonly string[]): Promise<number> {
  const [first, end] = shareOf(NETIDS);
  for (let i = 0; i < TRIES; i++) {
    const netid = randomInt(first, end);
    const ports = netidPorts(netid, "spec");
    if (!ports.ok || drawn.has(ports.value.tcp)) continue;
    drawn.add(ports.value.tcp);
    const free = await Promise.all(hosts.map((h) => listens(h, ports.value.tcp)));
    if (free.every((p) => p !== null)) return netid;
  }
  throw new Error(`no netid between ${first} and ${end} has its port free on ${hosts.join(", ")}`);
}
