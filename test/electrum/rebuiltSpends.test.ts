import { describe } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

// As test/electrum/swaps.test.ts.
SwapWorld.backend = "electrum";

describe("both sides on five Electrum servers, one of which lies, one stalls and one lags", () => {
  describe("claims and refunds made anew", async () => void (await import("../swap/rebuiltSpends.test.ts")));
});
