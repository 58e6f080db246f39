import { afterEach, expect, test, vi } from "vitest";
import { netidPorts } from "../core/gossip/ports.ts";
import { freeNetid, freePort, PORT_SHARE_VARIABLE } from "./freePorts.ts";

afterEach(() => vi.unstubAllEnvs());

const drawPorts = (count: number): Promise<number[]> => Promise.all(Array.from({ length: count }, () => freePort()));

test("two shares have no port in common, nor a network's ports in each other's", async () => {
  const drawn: number[][] = [];
  for (const share of ["1/2", "2/2"]) {
    vi.stubEnv(PORT_SHARE_VARIABLE, share);
    const netids = await Promise.all(Array.from({ length: 100 }, () => freeNetid(["127.0.0.1"])));
    const p2p = netids.map((netid) => netidPorts(netid, "spec")).map((ports) => (ports.ok ? ports.value.tcp : 0));
    drawn.push([...p2p, ...(await drawPorts(100))]);
  }
  const [first = [], second = []] = drawn;
  expect(Math.max(...first)).toBeLessThan(Math.min(...second));
  expect([Math.min(...first) >= 12_000, Math.max(...second) < 32_000]).toEqual([true, true]);
});

test("nothing is drawn twice, however many draw at once", async () => {
  // Of 500 out of 10,000 drawn without memory, a dozen would be there twice.
  vi.stubEnv(PORT_SHARE_VARIABLE, "2/2");
  const ports = await drawPorts(500);
  expect(new Set(ports).size).toBe(500);
});

test.each(["", "1", "0/2", "3/2", "1/2/3", "a/b", "-1/2"])("the share %j is refused by name", async (share) => {
  vi.stubEnv(PORT_SHARE_VARIABLE, share);
  await expect(freePort()).rejects.toThrow(/^SWAPNODE_PORT_SHARE is a share such as 1\/2, not "/);
});
