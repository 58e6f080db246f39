import { describe, vi } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

// As test/electrum/swaps.test.ts.
SwapWorld.backend = "electrum";
// Hours pass in some, a day in two.
vi.setConfig({ testTimeout: 120_000 });

describe("both sides on five Electrum servers, one of which lies, one stalls and one lags", () => {
  describe("many swaps at once, refusals and evictions", async () => void (await import("../swap/crowd.test.ts")));
  describe("answers of the disk that are lost", async () => void (await import("../swap/disk.test.ts")));
  describe("outputs of bare keys", async () => void (await import("../swap/bareKeys.test.ts")));
  describe("damaged records", async () => void (await import("../swap/damagedRecords.test.ts")));
  describe("fees of swaps that came to nothing", async () => void (await import("../swap/failedFees.test.ts")));
  describe("payments that are gone for good", async () => void (await import("../swap/paymentGone.test.ts")));
  describe("swaps that KDF began", async () => void (await import("../swap/kdfImport.test.ts")));
  describe("statuses that are kept", async () => void (await import("../swap/settledStatuses.test.ts")));
});
