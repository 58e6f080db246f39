import { expect, test } from "vitest";
import { netidErrorText, netidPorts } from "./ports.ts";
import { exchangeableAddress, isRoutableIpv4 } from "./routableAddress.ts";

test.each([
  [0, 7803, 7813],
  [6133, 32326, 32336],
  [8762, 42845, 42855],
  [9000, 43803, 43813],
  [9998, 47771, 47781],
])("netid %i has tcp port %i and wss port %i", (netid, tcp, wss) => {
  expect(netidPorts(netid, "spec")).toEqual({ ok: true, value: { tcp, wss } });
});

test("7777 is refused by every profile, 8762 only by the third generation", () => {
  for (const profile of ["spec", "kdf-2", "kdf-3"]) expect(netidPorts(7777, profile).ok).toBe(false);
  expect(netidPorts(8762, "kdf-2").ok).toBe(true);
  const refused = netidPorts(8762, "kdf-3");
  expect(refused.ok ? "" : netidErrorText(refused.error)).toBe("Invalid netid: 8762 netid is deprecated.");
});

test("the last netid whose ports fit is 14428", () => {
  expect(netidPorts(14428, "spec").ok).toBe(true);
  const refused = netidPorts(14429, "spec");
  expect(refused.ok ? "" : netidErrorText(refused.error)).toBe("Invalid netid: 14429 is larger than the maximum of 14428.");
});

test.each(["8.8.8.8", "192.0.0.9", "192.0.0.10", "172.32.0.1", "100.128.0.1", "223.255.255.255"])("%s is routable", (address) => {
  expect(isRoutableIpv4(address)).toBe(true);
});

test.each([
  "0.1.2.3",
  "10.1.1.1",
  "100.64.0.1",
  "127.0.0.1",
  "169.254.1.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.8",
  "192.0.2.7",
  "192.168.1.1",
  "198.19.0.1",
  "198.51.100.1",
  "203.0.113.9",
  "240.0.0.1",
  "255.255.255.255",
  "08.8.8.8",
  "8.8.8",
  "8.8.8.256",
])("%s is not routable", (address) => {
  expect(isRoutableIpv4(address)).toBe(false);
});

test("only routable addresses on the tcp port of the netid are exchanged, cut to host and port", () => {
  expect(exchangeableAddress("/ip4/8.8.8.8/tcp/42845/p2p/x", 42845)).toBe("/ip4/8.8.8.8/tcp/42845");
  expect(exchangeableAddress("/ip4/8.8.8.8/tcp/42846", 42845)).toBeUndefined();
  expect(exchangeableAddress("/ip4/127.0.0.1/tcp/42845", 42845)).toBeUndefined();
  expect(exchangeableAddress("/dns/example.org/tcp/42845", 42845)).toBeUndefined();
});
