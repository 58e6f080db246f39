import { describe } from "vitest";
import { SimWorld } from "../../sim/world/simWorld.ts";

// Scenarios of the simulated world, which run on daemons in their own files, on the other backend; more of them in crashesOnElectrum.test.ts.
// test/electrum/everyScenario.test.ts says why some are in neither.
SimWorld.backend = "electrum";

describe("every node on Electrum servers", () => {
  describe("swaps", async () => void (await import("./swapRoads.test.ts")));
  describe("faults", async () => void (await import("./faults.test.ts")));
  describe("peers", async () => void (await import("./peerTrouble.test.ts")));
  describe("clocks", async () => void (await import("./wrongClock.test.ts")));
  describe("time limits", async () => void (await import("./timing.test.ts")));
  describe("orders", async () => void (await import("./book.test.ts")));
  describe("connections", async () => void (await import("./lines.test.ts")));
  describe("one key on two machines", async () => void (await import("./ownKey.test.ts")));
  describe("lock times and interest", async () => void (await import("./interest.test.ts")));
  describe("notarization", async () => void (await import("./notarization.test.ts")));
});
