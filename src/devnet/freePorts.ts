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

/** A TCP port of the loopback address that was free a moment ago. */
export async function freePort(): Promise<number> {
  const port = await listens("127.0.0.1", 0);
  if (port === null) throw new Error("no free TCP port on 127.0.0.1");
  return port;
}

/** Private netids that belong to no public network. */
const FIRST_NETID = 9_100;
const LAST_NETID = 14_400;
const TRIES = 50;

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
