import { describe } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

// The scenarios of test/swap, which run on daemons there, on the other backend. Those missing here do not look at a chain or are about
// what a daemon does. test/electrum/moreSwaps.test.ts has the rest.
SwapWorld.backend = "electrum";

describe("both sides on five Electrum servers, one of which lies, one stalls and one lags", () => {
  describe("whole swaps, refunds, restarts after every stored event", async () => void (await import("../swap/roads.test.ts")));
  describe("reorganisations under payment, fee and claim", async () => void (await import("../swap/reorgs.test.ts")));
  describe("deep reorganisations", async () => void (await import("../swap/deepReorgs.test.ts")));
  describe("old backups", async () => void (await import("../swap/oldBackup.test.ts")));
  describe("news between two blocks", async () => void (await import("../swap/chainNews.test.ts")));
});
