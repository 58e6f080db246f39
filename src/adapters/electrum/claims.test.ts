import { expect, test } from "vitest";
import { claimsOf } from "./claims.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { Tracked } from "./scriptViews.ts";

const server = { endpoint: { name: "one" } } as unknown as RemoteServer;
const told = (...lines: readonly { readonly txid: string; readonly height: number }[]): Tracked =>
  ({ fromHeight: 1_000, only: null, views: new Map([[server, { lines }]]) }) as unknown as Tracked;

test("a payment that a shorter branch has below the tip its swap began with is looked at, what was there long before is not", () => {
  const tracked = told(
    { txid: "old", height: 900 },
    { txid: "lower", height: 997 },
    { txid: "first", height: 1_000 },
    { txid: "pool", height: 0 },
  );
  expect(claimsOf(tracked, 1_001).map(({ txid }) => txid)).toEqual(["lower", "first", "pool"]);
});
