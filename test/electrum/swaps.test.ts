import { describe } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

// The scenarios of test/swap, which run on daemons there, on the other backend; more of them in moreSwaps.test.ts, rebuiltSpends.test.ts, hardSwaps.test.ts and
// newsOfSwaps.test.ts. test/electrum/everyScenario.test.ts says why some are in none.
SwapWorld.backend = "electrum";

describe("both sides on five Electrum servers, one of which lies, one stalls and one lags", () => {
  describe("whole swaps, refunds, restarts after every stored event", async () => void (await import("../swap/roads.test.ts")));
  describe("reorganisations under payment, fee and claim", async () => void (await import("../swap/reorgs.test.ts")));
  describe("deep reorganisations", async () => void (await import("../swap/deepReorgs.test.ts")));
  describe("old backups", async () => void (await import("../swap/oldBackup.test.ts")));
});
