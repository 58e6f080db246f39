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
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
const TRIES = 50;

/** A TCP port of the loopback address that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (let i = 0; i < TRIES; i++) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if ((await listens("127.0.0.1", port)) !== null) return port;
  }
  throw new Error(`no free TCP port between ${FIRST_PORT} and ${LAST_PORT} on 127.0.0.1`);
}

/** Private netids that belong to no public network; their peer-to-peer ports lie in the same range. */
const FIRST_NETID = 1_100;
const LAST_NETID = 6_000;

/** A netid whose peer-to-peer port is free on all these loopback addresses. */
export async function freeNetid(hosts: readonly string[]): Promise<number> {
  for (let i = 0; i < TRIES; i++) {
    const netid = randomInt(FIRST_NETID, LAST_NETID);
    const ports = netidPorts(netid, "spec");
    if (!ports.ok) continue;
    const free = await Promise.all(hosts.map((h) => listens(h, ports.value.tcp)));
    if (free.every((p) => p !== null)) return netid;
  }
  throw new Error(`no netid between ${FIRST_NETID} and ${LAST_NETID} has its port free on ${hosts.join(", ")}`);
}
