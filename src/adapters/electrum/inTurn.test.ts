import { expect, test } from "vitest";
import { inTurn } from "./inTurn.ts";
import type { RemoteServer } from "./remoteServer.ts";

test("each turn begins with another one, and those that answer late now come last", () => {
  const named = (name: string, isSlow: boolean): RemoteServer => ({ name, isSlow }) as unknown as RemoteServer;
  const servers = [named("late", true), named("a", false), named("b", false)];
  const orders = [0, 1, 2, 3].map((turn) =>
    inTurn(servers, turn)
      .map(({ name }) => name)
      .join(" "),
  );
  expect(orders).toEqual(["a b late", "a b late", "b a late", "a b late"]);
  expect(inTurn([], 7)).toEqual([]);
});
