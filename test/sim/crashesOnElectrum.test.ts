import { describe } from "vitest";
import { SimWorld } from "../../sim/world/simWorld.ts";

SimWorld.backend = "electrum";

describe("every node on Electrum servers", () => {
  describe("crashes at every write and broadcast", async () => void (await import("./crashRestart.test.ts")));
  describe("all at once", async () => void (await import("./chaos.test.ts")));
  describe("full disks", async () => void (await import("./fullDisk.test.ts")));
  describe("starts without a coin", async () => void (await import("./kickStart.test.ts")));
  describe("rules that are rarely come to", async () => void (await import("./rules.test.ts")));
});
