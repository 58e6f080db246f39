import { describe } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

// As test/electrum/swaps.test.ts.
SwapWorld.backend = "electrum";

describe("both sides on five Electrum servers, one of which lies, one stalls and one lags", () => {
  describe("fees, and spends that are replaced", async () => void (await import("../swap/fees.test.ts")));
  describe("versions of fees", async () => void (await import("../swap/feeVersions.test.ts")));
  describe("what could not be sent", async () => void (await import("../swap/outbox.test.ts")));
  describe("limits", async () => void (await import("../swap/limits.test.ts")));
  describe("steps that fail for a while", async () => void (await import("../swap/interruptions.test.ts")));
  describe("clocks", async () => void (await import("../swap/clocks.test.ts")));
  describe("values that ask for more blocks", async () => void (await import("../swap/safety.test.ts")));
  describe("peers that misbehave", async () => void (await import("../swap/badPeers.test.ts")));
  describe("messages of other swaps", async () => void (await import("../swap/replays.test.ts")));
  describe("promises and restarts", async () => void (await import("../swap/funds.test.ts")));
  describe("payments that nobody asked blocks for", async () => void (await import("../swap/noConfirmations.test.ts")));
  describe("keys that a swap has lost", async () => void (await import("../swap/otherKeys.test.ts")));
  describe("a backend that is away at a start", async () => void (await import("../swap/awayAtStart.test.ts")));
  describe("coins that were put aside", async () => void (await import("../swap/asideUntilSettled.test.ts")));
  describe("claims of KDF", async () => void (await import("../swap/kdfClaims.test.ts")));
});
