import { expect, test } from "vitest";
import { parseServerUrl, voterOf } from "./serverAddress.ts";

const voter = (url: string): string => {
  const parsed = parseServerUrl(url);
  if (!parsed.ok) throw new Error(parsed.error.detail);
  return voterOf(parsed.value);
};

test.each([
  ["electrum1.example.com:50001", "ELECTRUM1.example.com.:50002", "at another port, in capitals, with the dot"],
  ["192.0.2.1:50001", "0xC0000201:50002", "as a number"],
  ["192.0.2.1:50001", "[::ffff:192.0.2.1]:50001", "as an IPv6 address"],
  ["[2001:db8::1]:50001", "[2001:DB8:0:0::1]:50002", "written out"],
])("a host has one vote: %s and %s, %s", (one, other) => {
  expect(voter(other)).toBe(voter(one));
});

test.each([
  ["electrum1.example.com:50001", "electrum2.example.com:50001", "names are not looked up"],
  ["127.0.0.1:50001", "127.0.0.1:50002", "tunnels end on this machine"],
  ["localhost:50001", "localhost:50002", "tunnels end on this machine"],
  ["[::1]:50001", "[::1]:50002", "tunnels end on this machine"],
  ["[::ffff:127.0.0.1]:50001", "127.0.0.1:50002", "tunnels end on this machine"],
])("%s and %s are two voters: %s", (one, other) => {
  expect(voter(other)).not.toBe(voter(one));
});
