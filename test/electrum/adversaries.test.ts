import { describe } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

// The adversaries of test/adversaries, which play against daemons there, on the other backend.
SwapWorld.backend = "electrum";

describe("both sides on five Electrum servers, one of which lies, one stalls and one lags", async () => {
  await import("../adversaries/adversaries.test.ts");
});
