import { expect, test } from "vitest";
import { parseSeedNode } from "./seedNode.ts";

const ports = { tcp: 47771, wss: 47781 };
const PIN = "12D3KooWDMw3TJ2jeLRxeWtVrUkBw5FzKE8T1bMZK9wYsgmKxsTh";

test.each([
  ["127.0.0.1", "/ip4/127.0.0.1/tcp/47771"],
  ["seed.example.org", "/dns/seed.example.org/tcp/47771"],
  ["/ip4/10.0.0.1/tcp/1234", "/ip4/10.0.0.1/tcp/1234"],
  ["/dns4/seed.example.org/tcp/47781/wss", "/dns4/seed.example.org/tcp/47781/wss"],
  ["/ip6/::1/tcp/5", "/ip6/::1/tcp/5"],
  ["/memory/7", "/memory/7"],
])("%s is dialled at %s", (entry, address) => {
  expect(parseSeedNode(entry, ports)).toEqual({ ok: true, value: { address } });
  expect(parseSeedNode(`${entry}/p2p/${PIN}`, ports)).toEqual({ ok: true, value: { address: `${address}/p2p/${PIN}`, pin: PIN } });
});

test.each([
  "",
  "localhost",
  "Seed.Example.org",
  "256.1.1.1",
  "http://x.org",
  "1.2.3.4:80",
  "/ip4/1.2.3.4/udp/5",
  "x.org/p2p/abc",
  "a".repeat(400),
])("%s is refused", (entry) => {
  expect(parseSeedNode(entry, ports)).toMatchObject({ ok: false, error: { kind: "BadSeedNode" } });
});
