import { expect, test } from "vitest";
import { parseNodeUrl, withoutKeys } from "./nodeUrl.ts";

test.each([
  ["a part of the path", "https://node.example/v3/fedcba9876543210", ["fedcba9876543210"]],
  [
    "a part of the path that is written with % signs",
    "https://node.example/v3/fedcba%2B9876%2F5432",
    ["fedcba%2B9876%2F5432", "fedcba+9876/5432"],
  ],
  ["a value of the query", "https://node.example/?apikey=fedcba%3D9876543210", ["fedcba%3D9876543210", "fedcba=9876543210"]],
  ["the user, which some providers give a key for", "https://fedcba9876543210:@node.example/", ["fedcba9876543210"]],
  ["a password of any length", "https://user:short@node.example/", ["short"]],
])("%s is a key that no text keeps, whatever form it has there", (_, address, forms) => {
  const node = parseNodeUrl(address);
  if (!node.ok) throw new Error(node.error.reason);
  for (const form of forms) expect(withoutKeys(node.value)(`no access with ${form} here`)).toBe("no access with *** here");
});

test("words of an address are no keys, and one that cannot be read is still taken out", () => {
  const node = parseNodeUrl("https://node.example/mainnet/rpc/%zz0123456789");
  if (!node.ok) throw new Error(node.error.reason);
  expect(withoutKeys(node.value)("mainnet/rpc/%zz0123456789")).toBe("mainnet/rpc/***");
});
